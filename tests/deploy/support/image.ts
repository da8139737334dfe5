import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ROOT } from '../../support/processes/process.ts';
import { environmentOf, type Instruction, lastOf, readDockerfile, type Stage } from './dockerfile.ts';
import { root, runStep } from './sandbox.ts';

/** The folders that stand for the images that the Dockerfile begins with: those of this machine. */
const BASE_FOLDERS = ['/usr/bin', '/usr/lib', '/usr/lib64', '/usr/sbin', '/usr/share', '/etc'];
const NODE = realpathSync(join(ROOT, 'node_modules/node/bin/node'));
/** What distroless/cc has besides the C library: the others must be copied by the Dockerfile. */
const DISTROLESS_LIBRARIES = /\/(?:ld-linux[\w-]*|lib(?:c|m|dl|pthread|rt|gcc_s|stdc\+\+))\.so/;

/** An image that has been built, as a folder. */
export interface Image {
  readonly root: string;
  readonly workdir: string;
  readonly env: Record<string, string>;
  /** What is run: ENTRYPOINT and CMD. */
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
  readonly stage: Stage;
}

const list = (text: string): string[] => JSON.parse(text.slice(text.indexOf('['))) as string[];

/** What the build sees of this repository: the files of git that .dockerignore lets through. */
export function makeContext(): string {
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-context-'));
  const patterns = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((it) => /^[^#\s]/.test(it));
  const allowed = patterns.filter((it) => it.startsWith('!')).map((it) => it.slice(1));
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const file of files.split('\0').filter((it) => it !== '')) {
    if (!allowed.some((path) => file === path || file.startsWith(`${path}/`))) continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(ROOT, file), join(folder, file), { preserveTimestamps: true });
  }
  return folder;
}

/** A folder with what an image has before its first instruction. */
function startStage(stage: Stage): string {
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-image-'));
  chmodSync(folder, 0o755);
  for (const path of ['proc', 'dev', 'tmp', 'usr/local/bin', 'usr/local/lib', 'root'])
    mkdirSync(join(folder, path), { recursive: true });
  if (stage.image.startsWith('node:')) {
    for (const path of BASE_FOLDERS) mkdirSync(join(folder, path), { recursive: true });
    for (const name of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(folder, name));
    const npm = dirname(dirname(realpathSync(execFileSync('which', ['npm'], { encoding: 'utf8' }).trim())));
    cpSync(npm, join(folder, 'usr/local/lib/npm'), { recursive: true });
    cpSync(NODE, join(folder, 'usr/local/bin/node'));
    const start = '#!/bin/sh\nexec /usr/local/bin/node /usr/local/lib/npm/bin/npm-cli.js "$@"\n';
    writeFileSync(join(folder, 'usr/local/bin/npm'), start, { mode: 0o755 });
    return folder;
  }
  const libraries = execFileSync('ldd', [NODE], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
  for (const library of libraries.filter((path) => DISTROLESS_LIBRARIES.test(path))) {
    mkdirSync(dirname(join(folder, library)), { recursive: true });
    copyFileSync(library, join(folder, library));
  }
  mkdirSync(join(folder, 'etc'));
  writeFileSync(join(folder, 'etc/passwd'), 'nonroot:x:65532:65532:nonroot:/:/sbin/nologin\n');
  return folder;
}

/** Copies what COPY names into a stage. A path of the base image is one of this machine. */
async function copy(
  { rest, flags }: Instruction,
  source: string,
  target: string,
  workdir: string,
): Promise<void> {
  const words = rest.trim().split(/\s+/);
  const to = words.pop() ?? '';
  const destination = join(target, to.startsWith('/') ? to : join(workdir, to));
  for (const word of words) {
    const inStage = globSync(join(source, word));
    const found = inStage.length > 0 ? inStage : globSync(word);
    if (found.length === 0) throw new Error(`COPY finds no ${word}`);
    for (const path of found) {
      const isFolder = (await root('stat', '--dereference', '--format=%F', path)).trim() === 'directory';
      await root('mkdir', '-p', isFolder || to.endsWith('/') ? destination : dirname(destination));
      const at = isFolder ? `${path}/.` : path;
      await root(
        'cp',
        '--recursive',
        '--preserve=mode,timestamps',
        ...(isFolder ? [] : ['--dereference']),
        at,
        destination,
      );
      if (flags.has('chown'))
        for (const entry of globSync('*', { cwd: path }))
          await root('chown', '--recursive', flags.get('chown') ?? '', join(destination, basename(entry)));
    }
  }
}

/**
 * Does what a Dockerfile says, in clean folders, which `keep` is told of. Throws where it has an instruction that is not
 * known here.
 */
export async function buildImage(
  dockerfile: string,
  context: string,
  keep: (folder: string) => void,
  buildArguments: Readonly<Record<string, string>> = {},
): Promise<Image> {
  const stages = readDockerfile(dockerfile);
  const built = new Map<string, string>();
  let image: Image | undefined;
  for (const stage of stages) {
    const folder = startStage(stage);
    keep(folder);
    const base = stage.image.startsWith('node:') ? BASE_FOLDERS : [];
    const mounts = Object.fromEntries(base.map((path) => [path, path]));
    let workdir = '/';
    let user = '0:0';
    const given: Record<string, string> = {};
    for (const instruction of stage.instructions) {
      const { name, rest, flags } = instruction;
      if (name === 'WORKDIR') {
        workdir = rest.trim();
        mkdirSync(join(folder, workdir), { recursive: true });
      } else if (name === 'USER') {
        user = rest.trim();
      } else if (name === 'ARG') {
        given[rest.trim()] = buildArguments[rest.trim()] ?? '';
      } else if (name === 'COPY') {
        await copy(instruction, built.get(flags.get('from') ?? '') ?? context, folder, workdir);
      } else if (name === 'RUN' && rest.startsWith('apt-get')) {
        // The base is this machine, which mostly has it.
        const packages = rest.slice(rest.lastIndexOf(' --')).trim().split(/\s+/).slice(1);
        const missing = await root('dpkg', '--status', ...packages).then(
          () => false,
          () => true,
        );
        if (missing) await root('sh', '-c', rest);
      } else if (name === 'RUN') {
        const { HTTPS_PROXY } = process.env;
        const env = {
          ...given,
          PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin',
          HOME: '/root',
          NODE_USE_SYSTEM_CA: '1',
          // Where this machine gets its packages from, however it was told.
          npm_config_registry: execFileSync('npm', ['config', 'get', 'registry'], {
            encoding: 'utf8',
          }).trim(),
          ...(HTTPS_PROXY === undefined ? {} : { HTTPS_PROXY }),
        };
        await runStep({ root: folder, workdir, env, mounts }, user, rest);
      } else if (!['ENV', 'EXPOSE', 'STOPSIGNAL', 'HEALTHCHECK', 'ENTRYPOINT', 'CMD'].includes(name))
        throw new Error(`the Dockerfile has ${name}, which nothing here knows`);
    }
    if (stage.alias !== undefined) built.set(stage.alias, folder);
    else
      image = {
        root: folder,
        workdir,
        env: environmentOf(stage),
        entrypoint: list(lastOf(stage, 'ENTRYPOINT')),
        command: list(lastOf(stage, 'CMD')),
        healthCheck: list(lastOf(stage, 'HEALTHCHECK')),
        stage,
      };
  }
  if (image === undefined) throw new Error('the last stage is no image');
  return image;
}
