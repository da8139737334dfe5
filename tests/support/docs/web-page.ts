import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Process, ROOT, runProgram, type Settings } from '../processes/process.ts';
import { type Block, blocksOf, pathOf } from './markdown.ts';

const blocksIn = (page: string) => blocksOf(readFileSync(join(ROOT, page), 'utf8'));
const blocks = blocksIn('docs/get-started/tutorial-web-page.md');
const pages = [...blocks, ...blocksIn('docs/guides/cors.md')];

/** The text of the one block of a section that is in this language and matches. */
export function blockOf(section: string, language: string, pattern = /^/): string {
  const found = pages.filter(
    (block) => block.section === section && block.language === language && pattern.test(block.text),
  );
  if (found.length !== 1) throw new Error(`"${section}" has ${found.length} blocks of ${language}`);
  return found[0]?.text ?? '';
}

/** The only changes to what the page says. */
export function withPorts(text: string, api: number, web: number): string {
  return text
    .replaceAll(/(localhost|127\.0\.0\.1):4000/g, `$1:${api}`)
    .replaceAll('localhost:5173', `localhost:${web}`);
}

/** A main file of nginx for the block of the page: only ports, names and paths are replaced. */
export function nginxOf(places: { readonly root: string; readonly port: number; readonly api: number }) {
  const server = blockOf('Production', 'nginx')
    .replace('listen 443', `listen 127.0.0.1:${places.port}`)
    .replace('example.com;', 'localhost;')
    .replace('/var/www/my-page/dist', places.root)
    .replace('127.0.0.1:4000', `127.0.0.1:${places.api}`);
  return `pid /run/nginx.pid;
error_log /var/log/nginx/error.log;
events {}
http {
  include /etc/nginx/mime.types;
  ${server}
}
`;
}

/** The project of the page, as somebody has it who has followed the steps up to "Open it". */
export interface WebPage {
  readonly folder: string;
  /** Runs a shell block in it. Throws, with the output, if a command fails. */
  run(block: string): string;
  /** Runs the compiler, which may fail, and returns what it prints. */
  compile(): string;
  /** Starts Vite's dev server. */
  startVite(port: number, settings?: Settings): Promise<Process>;
  remove(): void;
}

function execute(script: string, cwd: string): string {
  const { PATH, HOME } = process.env;
  // npm trusts whom the machine trusts: the pinned Node brings authorities of its own.
  const env = { PATH, HOME, NODE_USE_SYSTEM_CA: '1', npm_config_audit: 'false', npm_config_fund: 'false' };
  return execFileSync('bash', ['-e', '-o', 'pipefail', '-c', script], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

function follow(blocks: readonly Block[], project: string): void {
  const folder = join(project, '../my-page');
  for (const block of blocks) {
    const path = pathOf(block);
    if (block.language === 'sh') execute(block.text, block.text.startsWith('API=') ? project : folder);
    else if (path !== undefined) writeFileSync(join(folder, path), block.text);
  }
}

/** Follows the steps of docs/get-started/tutorial-web-page.md in a folder beside a copy of what the project offers to pages. */
export function createWebPage(): WebPage {
  const home = mkdtempSync(join(tmpdir(), 'content-graph-web-page-'));
  const project = join(home, 'content-graph-api');
  mkdirSync(project);
  cpSync(join(ROOT, 'schema.graphql'), join(project, 'schema.graphql'));
  const sources = { recursive: true, filter: (path: string) => !/client\/(dist|node_modules)/.test(path) };
  cpSync(join(ROOT, 'packages/client'), join(project, 'packages/client'), sources);
  symlinkSync(join(ROOT, 'node_modules'), join(project, 'node_modules'));
  const steps = new Set(['2. Create the page', '3. Call the API', '4. Show it']);
  follow(
    blocks.filter(({ section }) => steps.has(section)),
    project,
  );
  const folder = join(home, 'my-page');
  return {
    folder,
    run: (block) => execute(block, folder),
    compile() {
      try {
        return execute(blockOf('5. Open it', 'sh', /tsc/), folder);
      } catch (error) {
        if (error instanceof Error && 'stdout' in error) return String(error.stdout);
        throw error;
      }
    },
    async startVite(port, settings = {}) {
      // What npx runs: a signal must reach Vite itself.
      const command = `cd ${folder} && exec node_modules/.bin/vite --port ${port} --strictPort`;
      const vite = runProgram(['/bin/sh', '-c', command], settings);
      await vite.printed(/Local:/);
      return vite;
    },
    remove: () => rmSync(home, { recursive: true, force: true, maxRetries: 5 }),
  };
}
