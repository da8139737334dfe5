import { globSync, readFileSync } from 'node:fs';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { blocksOf, pathOf } from '../support/docs/markdown.ts';
import { ROOT, runShell } from '../support/processes/process.ts';

/** The page from an empty folder, and the pages whose files TypeScript cannot read, have separate tests. */
const pages = globSync('docs/clients/*.md', { cwd: ROOT }).filter(
  (page) => !/(tanstack|vue|svelte)\.md$/.test(page),
);
/** What a checkout has only after its own commands have run. */
const GENERATED = /\/(?:__generated__|generated|graphql-env\.d\.ts)$/;
const read = (page: string) => blocksOf(readFileSync(join(ROOT, page), 'utf8'));

/** The first block of a page in a language. */
function findText(page: string, language: string, section?: string): string {
  const found = read(page).find(
    (block) => block.language === language && (section === undefined || block.section === section),
  );
  if (found === undefined) throw new Error(`${page} has no ${language}`);
  return found.text;
}

it('the examples of docs/clients/ compile in a new project that has their folders and what the pages add', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-pasted-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const run = async (line: string) => {
    const { code, stdout, stderr } = await runShell(
      `set -e; API=${ROOT}; cd ${folder}; PATH=${folder}/node_modules/.bin:$PATH; ${line}`,
    );
    expect(code, `${line}\n${stdout}${stderr}`).toBe(0);
  };
  await symlink(join(ROOT, 'examples/clients/node_modules'), join(folder, 'node_modules'));
  await run(findText('docs/clients/README.md', 'sh', 'Into a project'));
  const settings = JSON.parse(findText('docs/clients/README.md', 'json', 'Into a project'));
  Object.assign(settings.compilerOptions, JSON.parse(`{${findText('docs/clients/gql-tada.md', 'json')}}`));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  const shown = pages.flatMap(read).flatMap((block) => pathOf(block) ?? []);
  for (const source of new Set(shown.filter((path) => path.startsWith('examples/clients/')).map(dirname)))
    await cp(join(ROOT, source), join(folder, source.replace(/^examples\//, 'src/')), {
      recursive: true,
      filter: (path) => !GENERATED.test(path),
    });
  await run('gql.tada generate-output');
  await run('cd src/clients && graphql-codegen --config codegen/codegen.yml --errors-only');
  await run('cd src/clients/relay && mkdir __generated__ && relay-compiler relay.config.json');
  await run('gql.tada check --level error && tsc');
});
