import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { connect } from '../support/database/postgres.ts';
import { type Process, ROOT, runScript, temporaryFolder, until } from '../support/processes/process.ts';
import { productionSettings } from '../support/processes/server.ts';
import { database, run } from '../support/processes/started.ts';

const NAME = '20991231000000_posts_title';
const INDEX = 'posts_title_idx';

/** A copy of the project whose last migration builds an index. */
async function projectWith(sql: string): Promise<string> {
  const root = await temporaryFolder();
  for (const folder of ['src', 'prisma'])
    await cp(join(ROOT, folder), join(root, folder), { recursive: true });
  await cp(join(ROOT, 'package.json'), join(root, 'package.json'));
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  const folder = join(root, 'prisma/migrations', NAME);
  await mkdir(folder);
  await writeFile(join(folder, 'migration.sql'), sql);
  return root;
}

const plain = () =>
  projectWith(`-- For a report.\nCREATE INDEX CONCURRENTLY "${INDEX}" ON "posts"("title");\n`);
const unique = () => projectWith(`CREATE UNIQUE INDEX CONCURRENTLY "${INDEX}" ON "posts"("title");`);

const migrate = (root: string, settings: Readonly<Record<string, string>>): Process =>
  runScript('src/admin/main.ts', ['database', 'migrate'], { ...productionSettings(), ...settings }, root);

async function applied(process: Process): Promise<readonly string[]> {
  const { code, stdout, stderr } = await process.exited;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout).applied;
}

/** A database with two posts of one title. */
async function stage() {
  const url = await database();
  await run(
    url,
    `INSERT INTO public.users (id, name, email) VALUES (gen_random_uuid(), 'Ann', 'ann@example.com');
     INSERT INTO public.posts (id, title, body, author_id) SELECT gen_random_uuid(), 'same', 'b', id FROM public.users, generate_series(1, 2)`,
  );
  const watcher = await connect(url);
  const writing = await connect(url);
  return {
    url,
    watcher,
    /** Holds a row of the table, as a request or `pg_dump` can. */
    hold: () => writing.query("BEGIN; UPDATE public.posts SET body = 'held'"),
    release: () => writing.query('ROLLBACK'),
    /** The process of the index build that waits for the transaction. */
    waiting: () =>
      until('the index build to wait', async () => {
        const { rows } = await watcher.query<{ pid: number }>(
          `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
             AND query LIKE '%INDEX CONCURRENTLY%'`,
        );
        return rows[0]?.pid;
      }),
    index: async () =>
      (
        await watcher.query(
          `SELECT indisvalid AS valid, indisunique AS unique FROM pg_index WHERE indexrelid = to_regclass('public.${INDEX}')`,
        )
      ).rows[0],
  };
}

it('A migration builds an index while others write, also where two processes migrate at once', async () => {
  const { url, watcher, hold, release, waiting, index } = await stage();
  const root = await plain();
  await hold();
  const both = [migrate(root, { DATABASE_URL: url }), migrate(root, { DATABASE_URL: url })];
  await waiting();
  await watcher.query(
    "INSERT INTO public.posts (id, title, body, author_id) SELECT gen_random_uuid(), 'meanwhile', 'b', id FROM public.users",
  );
  await release();
  const names = await Promise.all(both.map(applied));
  expect(names.flat()).toEqual([NAME]);
  expect(await index()).toEqual({ valid: true, unique: false });
});

it('A build that was killed leaves an invalid index, which the next run replaces', async () => {
  const { url, watcher, hold, release, waiting, index } = await stage();
  const root = await plain();
  await hold();
  const killed = migrate(root, { DATABASE_URL: url });
  const pid = await waiting();
  killed.kill('SIGKILL');
  await killed.exited;
  await watcher.query('SELECT pg_terminate_backend($1)', [pid]);
  await until('the end of the build', async () => (await index())?.valid === false);
  await release();
  expect(await applied(migrate(root, { DATABASE_URL: url }))).toEqual([NAME]);
  expect(await index()).toEqual({ valid: true, unique: false });
});

it('An index that was complete before its migration was recorded is taken', async () => {
  const { url, index } = await stage();
  await run(url, `CREATE INDEX ${INDEX} ON public.posts (title)`);
  expect(await applied(migrate(await plain(), { DATABASE_URL: url }))).toEqual([NAME]);
  expect(await index()).toEqual({ valid: true, unique: false });
});

it('A build that fails is named, leaves no index, and is done once its reason is gone', async () => {
  const { url, watcher, index } = await stage();
  const root = await unique();
  const { code, stderr } = await migrate(root, { DATABASE_URL: url }).exited;
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`Migration ${NAME} failed`) });
  expect(await index()).toBeUndefined();
  await watcher.query('UPDATE public.posts SET title = id::text');
  expect(await applied(migrate(root, { DATABASE_URL: url }))).toEqual([NAME]);
  expect(await index()).toEqual({ valid: true, unique: true });
});

it('The embedded database builds the index in the transaction of the migration', async () => {
  const settings = { DATA_DIR: await temporaryFolder() };
  expect((await applied(migrate(await plain(), settings))).at(-1)).toBe(NAME);
});
