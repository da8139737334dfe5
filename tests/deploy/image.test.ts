import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { createEmptyDatabase } from '../support/database/empty-database.ts';
import { graphqlPost } from '../support/graphql.ts';
import { ROOT, until } from '../support/processes/process.ts';
import { productionSettings } from '../support/processes/server.ts';
import { lastOf } from './support/dockerfile.ts';
import { buildImage, type Image, makeContext } from './support/image.ts';
import { type Contained, contain, root } from './support/sandbox.ts';

const MAX_MEGABYTES = 200;
const { SECRET_KEY = '', PUBLIC_URL = '' } = productionSettings();
const SETTINGS = { SECRET_KEY, PUBLIC_URL };
/** What the image is said to be of. */
const COMMITTED = 'c0ffee'.padEnd(40, '0');
const folders: string[] = [];
let image: Image;

/** A folder on the machine that the user of the image owns, as a volume is. */
async function volume(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-volume-'));
  folders.push(folder);
  await root('chown', '65532:65532', folder);
  return folder;
}

/** A database of PostgreSQL with nothing in it, until the end of the test. */
async function emptyDatabase(): Promise<{ readonly DATABASE_URL: string }> {
  const { url, drop } = await createEmptyDatabase('image');
  onTestFinished(drop);
  return { DATABASE_URL: url };
}

beforeAll(async () => {
  const context = makeContext();
  folders.push(context);
  image = await buildImage(join(ROOT, 'deploy/Dockerfile'), context, (folder) => folders.push(folder), {
    COMMIT: COMMITTED,
  });
});

afterAll(async () => {
  await root('rm', '--recursive', '--force', ...folders);
});

interface Started {
  readonly process: Contained;
  readonly origin: string;
  readonly env: Record<string, string>;
  readonly readyMs: number;
  /** Runs another program of the image beside it, to its end. */
  run(...args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }>;
}

/** Starts the image as a container with these settings, until the end of the test. */
async function start(settings: Record<string, string>, data?: string): Promise<Started> {
  const port = await freePort();
  const env = { PATH: '/usr/local/bin', ...image.env, PORT: String(port), ...SETTINGS, ...settings };
  const inside = {
    root: image.root,
    workdir: image.workdir,
    env,
    mounts: data === undefined ? {} : { '/data': data },
  };
  const startedMs = performance.now();
  const process = contain(inside, [...image.entrypoint, ...image.command]);
  onTestFinished(() => process.kill('SIGKILL'));
  const origin = `http://127.0.0.1:${port}`;
  await Promise.race([
    until('the service', () =>
      fetch(`${origin}/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    ),
    process.exited.then((code) => {
      throw new Error(`the image exited with ${code}: ${process.stderr}${process.stdout}`);
    }),
  ]);
  const readyMs = performance.now() - startedMs;
  return {
    process,
    origin,
    env,
    readyMs,
    async run(...args) {
      const other = contain(inside, args);
      const code = await other.exited;
      return { code, stdout: other.stdout, stderr: other.stderr };
    },
  };
}

/** Makes an account and a key with the image's own command, and asks the service for something with it. */
async function use({ origin, run }: Started): Promise<void> {
  const admin = (...args: string[]) => run('/usr/local/bin/content-graph-admin', ...args);
  const made = await admin(
    'user',
    'create',
    '--name',
    'Ada',
    '--email',
    'a@example.com',
    '--password',
    'a long password',
  );
  expect([made.code, made.stderr]).toEqual([0, '']);
  const created = await admin(
    'api-key',
    'create',
    '--user',
    'a@example.com',
    '--name',
    'k',
    '--scopes',
    'posts:read posts:write',
  );
  const { key } = JSON.parse(created.stdout) as { key: string };
  const response = await fetch(
    `${origin}/graphql`,
    graphqlPost('mutation { createPost(title: "From an image", body: "b") { title } }', { key }),
  );
  expect(await response.json()).toEqual({ data: { createPost: { title: 'From an image' } } });
}

describe('the image', () => {
  it('is made with the Node that the tests run on', () => {
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      devDependencies: Record<string, string>;
    };
    expect(readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8')).toContain(
      `ARG NODE_VERSION=${devDependencies.node}\n`,
    );
  });

  it('has packages of 200 MB at most, without the CLI of Prisma, its engines, and compilers for other databases', async () => {
    const packages = join(image.root, 'app/node_modules');
    const megabytes = Number((await root('du', '--summarize', '--block-size=1M', packages)).split('\t')[0]);
    const whole = Number((await root('du', '--summarize', '--block-size=1M', image.root)).split('\t')[0]);
    process.stdout.write(`node_modules: ${megabytes} MB; the image without its base: ${whole} MB\n`);
    expect(megabytes).toBeLessThanOrEqual(MAX_MEGABYTES);
    for (const name of [
      'prisma',
      '@prisma/engines',
      '@prisma/studio-core',
      'typescript',
      'vitest',
      'node',
      '@biomejs',
    ])
      expect(existsSync(join(packages, name))).toBe(false);
    const compilers = readdirSync(join(packages, '@prisma/client/runtime')).filter((it) =>
      it.startsWith('query_compiler_'),
    );
    expect(compilers.sort()).toEqual([
      'query_compiler_fast_bg.postgresql.mjs',
      'query_compiler_fast_bg.postgresql.wasm-base64.mjs',
    ]);
    for (const path of ['app/tests', 'app/docs', 'app/bench', 'app/.git', 'bin/sh', 'usr/local/bin/npm'])
      expect(existsSync(join(image.root, path))).toBe(false);
  });

  it('starts on the embedded database as an unprivileged user that can write to DATA_DIR and /tmp alone', async () => {
    const started = await start({ DATA_DIR: '/data' }, await volume());
    process.stdout.write(`ready after ${Math.round(started.readyMs)} ms on a new embedded database\n`);
    await use(started);
    const write = (path: string) =>
      started.run(
        ...image.entrypoint,
        '-e',
        `fs.writeFileSync(${JSON.stringify(path)}, ''); fs.rmSync(${JSON.stringify(path)})`,
      );
    for (const path of ['/data/a', '/tmp/a']) expect((await write(path)).code).toBe(0);
    for (const path of ['/a', '/app/a', '/app/src/a', '/usr/local/a', '/app/.compiled/a'])
      expect((await write(path)).stderr).toMatch(/EROFS|EACCES/);
    const who = await started.run(...image.entrypoint, '-p', 'process.getuid() + " " + process.getgroups()');
    expect(who.stdout.trim()).toBe('65532 65532');
    const compiled = await started.run(
      ...image.entrypoint,
      '-p',
      'require("node:module").getCompileCacheDir()',
    );
    expect(compiled.stdout).toMatch(/^\/app\/\.compiled\/.*-65532$/m);
  });

  it('starts on PostgreSQL with nothing to write to, once its own command has applied the migrations', async () => {
    const own = await emptyDatabase();
    const env = { PATH: '/usr/local/bin', ...image.env, ...SETTINGS, ...own };
    const migration = contain({ root: image.root, workdir: image.workdir, env, mounts: {} }, [
      ...image.entrypoint,
      'src/admin/main.ts',
      'database',
      'migrate',
    ]);
    expect(await migration.exited).toBe(0);
    expect(JSON.parse(migration.stdout).applied.length).toBeGreaterThan(5);
    const started = await start(own);
    process.stdout.write(`ready after ${Math.round(started.readyMs)} ms on PostgreSQL\n`);
    await use(started);
  });

  it('stops with its signal, exits 0, and has a health check that notices', async () => {
    const started = await start({ DATA_DIR: '/data', SHUTDOWN_DELAY_SECONDS: '0' }, await volume());
    expect((await started.run(...image.healthCheck)).code).toBe(0);
    const live = await fetch(`${started.origin}/health/live`);
    expect(await live.json()).toMatchObject({ commit: COMMITTED });
    expect((await started.run(...image.healthCheck, '/health/ready')).code).toBe(0);
    expect((await started.run(...image.healthCheck, '/health/unknown')).code).toBe(1);
    started.process.kill(lastOf(image.stage, 'STOPSIGNAL').trim() as NodeJS.Signals);
    expect(await started.process.exited).toBe(0);
    expect((await started.run(...image.healthCheck)).code).toBe(1);
  });
});
