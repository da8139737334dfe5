import { createHash } from 'node:crypto';
import { existsSync, globSync, lstatSync, readFileSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PGlite } from 'pglite-17';
import { describe, expect, it } from 'vitest';
import { OLD, oldFolder } from '../support/database/old-folder.ts';
import { KILLS } from '../support/processes/kills.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { runScript, temporaryFolder } from '../support/processes/process.ts';
import { admin, launchServer, productionSettings, startServer } from '../support/processes/server.ts';

/** For twenty runs on a busy machine. */
const WAIT = { timeout: 900_000 };
const ONE_LINE = /^[^\n]+\n$/;
const upgrade = (dataDir: string, settings = {}) => admin(['upgrade'], dataDir, settings);

/** A digest of the names and contents of all files. */
function contentOf(folder: string): string {
  const digest = createHash('sha256');
  for (const name of globSync('**/*', { cwd: folder }).sort()) {
    const path = join(folder, name);
    digest.update(`${name}\n`).update(lstatSync(path).isFile() ? readFileSync(path) : '');
  }
  return digest.digest('hex');
}

const versionOf = (folder: string) => readFileSync(join(folder, 'PG_VERSION'), 'utf8').trim();
const left = (dataDir: string) => globSync('postgres*', { cwd: dataDir }).sort();

/** Checks that production serves everything from the folder. */
async function serves(dataDir: string, posts: number = OLD.posts): Promise<void> {
  const server = await startServer(dataDir, productionSettings());
  const { key, email, password, session, newest, comments } = OLD;
  const titles = new Set<string>();
  for (let after: string | null = null; ; ) {
    const page = `query ($after: String) { postsConnection(first: 100, after: $after, tag: "old") {
      nodes { title commentCount author { name } } pageInfo { hasNextPage endCursor } } }`;
    const { data, errors } = await server.gql(page, { key, variables: { after } });
    expect(errors).toBeUndefined();
    const { nodes, pageInfo } = data.postsConnection;
    for (const { title, commentCount, author } of nodes) {
      titles.add(title);
      expect({ title, commentCount, author }).toEqual({
        title,
        commentCount: title === newest ? comments : 0,
        author: { name: 'Old' },
      });
    }
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor;
  }
  expect(titles.size).toBe(posts);
  expect(titles).toContain(newest);
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ email, password });
  expect((await fetch(`${server.origin}/login`, { method: 'POST', headers, body })).status).toBe(200);
  const cookie = { cookie: `session_id=${session}` };
  expect((await server.gql('{ viewer { name } }', { headers: cookie })).data).toEqual({
    viewer: { name: 'Old' },
  });
  const create = 'mutation { createPost(title: "new", body: "b") { title } }';
  expect((await server.gql(create, { key })).data).toEqual({ createPost: { title: 'new' } });
  server.kill('SIGTERM');
  await server.exited;
}

describe('admin upgrade', () => {
  it('moves the database of an earlier version and keeps the folder of before; again, it does nothing', async () => {
    const dataDir = await oldFolder();
    const before = contentOf(join(dataDir, 'postgres'));
    const refused = await launchServer(dataDir, productionSettings()).exited;
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(ONE_LINE) });
    expect(refused.stderr).toContain('was written by PostgreSQL 17');
    expect(refused.stderr).toContain('"npm run -s admin -- upgrade"');

    const upgraded = await upgrade(dataDir, productionSettings());
    expect(upgraded).toMatchObject({ code: 0, stderr: '' });
    expect(upgraded.json).toMatchObject({ from: '17', to: '18', kept: join(dataDir, 'postgres-17') });
    expect(upgraded.json.tables).toContainEqual({ name: 'posts', rows: OLD.posts });
    expect(left(dataDir)).toEqual(['postgres', 'postgres-17']);
    expect(contentOf(join(dataDir, 'postgres-17'))).toBe(before);
    await serves(dataDir);
    expect(await upgrade(dataDir)).toMatchObject({ code: 0, json: { from: '18', to: '18' } });
    expect((await admin(['user', 'list'], dataDir)).json).toMatchObject([{ email: OLD.email }]);
  });

  it(
    'leaves the old database or the whole new one, whenever it is killed, and finishes when run again',
    WAIT,
    async () => {
      let dataDir = await oldFolder();
      const before = contentOf(join(dataDir, 'postgres'));
      const startedMs = performance.now();
      expect((await upgrade(dataDir)).code).toBe(0);
      const lastsMs = performance.now() - startedMs;
      const rows = async () => (await admin(['user', 'list'], dataDir)).json;
      for (let round = 0; round < KILLS; round += 1) {
        if (versionOf(join(dataDir, 'postgres')) === '18') {
          expect(await rows()).toMatchObject([{ email: OLD.email }]);
          dataDir = await oldFolder();
        }
        const upgrading = runScript('src/admin/main.ts', ['upgrade'], { DATA_DIR: dataDir });
        const timer = setTimeout(
          () => upgrading.kill('SIGKILL'),
          ((round + Math.random()) / KILLS) * lastsMs,
        );
        await upgrading.exited.finally(() => clearTimeout(timer));
        if (!existsSync(join(dataDir, 'postgres'))) {
          expect((await launchServer(dataDir).exited).code).toBe(1);
          expect((await upgrade(dataDir)).code).toBe(0);
        }
        const is = versionOf(join(dataDir, 'postgres'));
        expect(contentOf(join(dataDir, is === '17' ? 'postgres' : 'postgres-17'))).toBe(before);
      }
      expect((await upgrade(dataDir)).code).toBe(0);
      expect(left(dataDir)).toEqual(['postgres', 'postgres-17']);
      await serves(dataDir);
    },
  );

  it('is finished by the next run where it was killed between its renames; a start makes no empty database', async () => {
    const dataDir = await oldFolder();
    expect((await upgrade(dataDir)).code).toBe(0);
    await rename(join(dataDir, 'postgres'), join(dataDir, 'postgres.upgrade'));
    for (const settings of [productionSettings(), {}]) {
      const { code, stderr } = await launchServer(dataDir, settings).exited;
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(ONE_LINE) });
      expect(stderr).toContain('run "npm run -s admin -- upgrade" again to finish');
    }
    expect(await admin(['user', 'list'], dataDir)).toMatchObject({ code: 1, stdout: '' });
    expect(await upgrade(dataDir)).toMatchObject({ code: 0, json: { from: '17', to: '18' } });
    await serves(dataDir);
  });

  it('reads what a killed server has left in its log', async () => {
    const running = join(await oldFolder(), 'postgres');
    const dataDir = await temporaryFolder();
    const engine = await PGlite.create(running);
    await engine.exec(`INSERT INTO posts (id, title, body, author_id) SELECT gen_random_uuid(), 'late', 'b', id FROM users;
      INSERT INTO tags (post_id, name, position, created_at) SELECT id, 'old', 0, created_at FROM posts WHERE title = 'late'`);
    await cp(running, join(dataDir, 'postgres'), { recursive: true });
    await engine.close();
    expect((await upgrade(dataDir)).code).toBe(0);
    await serves(dataDir, OLD.posts + 1);
  });

  it('refuses in one line what it cannot do, and changes nothing', async () => {
    const dataDir = await oldFolder();
    const before = contentOf(join(dataDir, 'postgres'));
    const absent = encodeURIComponent(`import { registerHooks } from 'node:module';
      registerHooks({ resolve(name, context, next) {
        if (name !== 'pglite-17') return next(name, context);
        throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
      } });`);
    const refusals = [
      [
        await upgrade(dataDir, { NODE_OPTIONS: `--import=data:text/javascript,${absent}` }),
        'run "npm install --no-save pglite-17@npm:@electric-sql/pglite@0.3.16"',
      ],
      [await upgrade(dataDir, { DATABASE_URL: 'postgres://localhost/x' }), 'unset it'],
      [await upgrade(await temporaryFolder()), 'There is no embedded database in'],
    ] as const;
    await mkdir(join(dataDir, 'postgres-17'));
    const occupied = [await upgrade(dataDir), `"${join(dataDir, 'postgres-17')}"`] as const;
    await rm(join(dataDir, 'postgres-17'), { recursive: true });
    for (const [refused, reason] of [...refusals, occupied]) {
      expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(ONE_LINE) });
      expect(refused.stderr).toContain(reason);
    }
    expect(left(dataDir)).toEqual(['postgres']);
    expect(contentOf(join(dataDir, 'postgres'))).toBe(before);
    const used = await migratedFolder();
    await startServer(used);
    expect((await upgrade(used)).stderr).toContain(`"${used}" is in use by another process`);
  });
});
