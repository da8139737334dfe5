import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { startApp } from '../support/app.ts';
import { seedPosts } from '../support/content.ts';
import { createEmptyDatabase } from '../support/database/empty-database.ts';
import { KILLS } from '../support/processes/kills.ts';
import { runScript, temporaryFolder, until } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { run } from '../support/processes/started.ts';

/** For twenty runs on a busy machine. */
const WAIT = { timeout: 900_000 };
/** So many that copying them takes a moment. */
const POSTS = 3_000;

it(
  'admin database copy-to moves everything or nothing, whenever it is killed, and changes nothing in the folder',
  WAIT,
  async () => {
    const dataDir = await temporaryFolder();
    expect(await admin(['database', 'migrate'], dataDir)).toMatchObject({ code: 0 });
    const app = await startApp({ settings: { DATA_DIR: dataDir }, drop: async () => undefined });
    const { id: authorId } = await app.account();
    const body = 'Body. '.repeat(200);
    await seedPosts(
      app,
      Array.from({ length: POSTS }, () => ({ authorId, body, tags: ['moved'] })),
    );
    await app.stop();
    const { server, name, url, drop } = await createEmptyDatabase('export', 'killed');
    onTestFinished(drop);
    const connections = async (condition: string) =>
      (await server.query(`SELECT FROM pg_stat_activity WHERE datname = '${name}' AND ${condition}`)).rows;
    /** Exports, and kills that some time after its transaction has begun. Resolves to how long it went on from there. */
    const killed = async (afterMs: number): Promise<number> => {
      const exporting = runScript('src/admin/main.ts', ['database', 'copy-to', url], { DATA_DIR: dataDir });
      await until('its transaction', async () => (await connections('xact_start < now()')).length > 0);
      const beganMs = performance.now();
      const timer = setTimeout(() => exporting.kill('SIGKILL'), afterMs);
      await exporting.exited.finally(() => clearTimeout(timer));
      await until('the end of its connections', async () => (await connections('true')).length === 0);
      return performance.now() - beganMs;
    };
    const isWhole = async (): Promise<boolean> => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      try {
        const found = "SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace";
        if ((await client.query(found)).rows.length === 0) return false;
        const { rows } = await client.query('SELECT count(*)::int AS posts FROM public.posts');
        expect(rows).toEqual([{ posts: POSTS }]);
        return true;
      } finally {
        await client.end();
      }
    };
    const empty = async () => {
      if (await isWhole()) await run(url, 'DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    };
    const lastsMs = await killed(WAIT.timeout);
    const ends = new Set<boolean>();
    // The first export may have been the slowest: kills come earlier until one is in time.
    for (let round = 0; round < KILLS || !ends.has(false); round += 1) {
      await empty();
      const part = round < KILLS ? (round + Math.random()) / KILLS : 2 ** (KILLS - round - 1);
      await killed(part * lastsMs);
      ends.add(await isWhole());
    }
    await empty();
    const exported = await admin(['database', 'copy-to', url], dataDir);
    expect(exported.json.tables).toContainEqual({ name: 'posts', rows: POSTS });
    expect(await isWhole()).toBe(true);
  },
);
