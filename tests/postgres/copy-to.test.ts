import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startApp, type TestApp } from '../support/app.ts';
import { createComment, createPost } from '../support/content.ts';
import { gqlAs, login, PASSWORD, visitor } from '../support/credentials/session.ts';
import { copyTo, createTarget, migratedFolder, ONE_LINE, WAIT } from '../support/database/copies.ts';
import { CREATE_POST, send } from '../support/keyed.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { startServer } from '../support/processes/server.ts';
import { LAST, Listeners } from '../support/streams/listeners.ts';

const SECRET_KEY = randomBytes(48).toString('base64');
/** The service on a folder, or on a database on PostgreSQL. `stop` may be called more than once. */
async function open(settings: Readonly<Record<string, string>>) {
  const app = await startApp({ settings, drop: async () => undefined }, { settings: { SECRET_KEY } });
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= app.stop();
    return stopping;
  };
  onTestFinished(stop);
  return { app, stop };
}

async function post(app: TestApp, key: string, titles: readonly string[]): Promise<void> {
  for (const title of titles) await createPost(app, key, { title, tags: ['moved', 'übrig'] });
}

const EVERYTHING = `{ posts(limit: 20) { id title body tags createdAt commentCount author { id name }
  comments(limit: 10) { id body createdAt author { name } } } }`;

describe('admin database copy-to', () => {
  it(
    'moves everything: posts, logins, sessions, API keys, stored responses, and the place of who follows events',
    WAIT,
    async () => {
      const dataDir = await migratedFolder();
      const url = await createTarget('everything');
      const before = await open({ DATA_DIR: dataDir });
      const author = await before.app.account();
      const person = await visitor(before.app);
      const acknowledged: string[] = [];
      const scene = { app: before.app as TestApp, author, acknowledged };
      const tell = async (titles: readonly string[]) => {
        await post(scene.app, author.key, titles);
        acknowledged.push(...titles);
      };
      const listeners = new Listeners(scene);
      await listeners.come(4);
      await tell(['one', 'two', 'three']);
      await listeners.come(4);
      await tell(['four', 'five', 'six']);
      await listeners.have('six');
      await listeners.leave();
      const keyed = {
        query: CREATE_POST,
        variables: { title: 'once' },
        idempotencyKey: 'once',
        key: author.key,
      };
      const responded = await send(before.app, keyed);
      const { data: shown } = await before.app.gql(EVERYTHING, { key: author.key });
      await createComment(before.app, author.key, shown.posts[0].id);
      const { data: all } = await before.app.gql(EVERYTHING, { key: author.key });
      await before.stop();

      const exported = await copyTo(dataDir, url, { SECRET_KEY });
      expect(exported).toMatchObject({ code: 0, stderr: expect.stringMatching(/SECRET_KEY[^\n]*\n$/) });
      expect(exported.stderr + exported.stdout).not.toContain(SECRET_KEY);
      expect(exported.json.tables).toContainEqual({ name: 'posts', rows: 7 });
      expect(exported.json.tables).toContainEqual({ name: 'comments', rows: 1 });

      // The old folder is not a part of the new history: who follows it goes on from events that the target does not have.
      const astray = await open({ DATA_DIR: dataDir });
      scene.app = astray.app;
      const late = new Listeners(scene);
      await post(astray.app, author.key, ['astray']);
      await late.come(3);
      await post(astray.app, author.key, ['astray, too']);
      await late.have('astray, too');
      await late.leave();
      await astray.stop();

      const { app } = await open({ DATABASE_URL: url, DATA_DIR: await temporaryFolder() });
      scene.app = app;
      expect((await app.gql(EVERYTHING, { key: author.key })).data).toEqual(all);
      const replayed = await send(app, keyed);
      expect(replayed).toMatchObject({ status: responded.status, text: responded.text, replayed: 'true' });
      expect((await login(app, { email: person.email, password: PASSWORD })).status).toBe(200);
      expect((await gqlAs(app, person.cookie, '{ viewer { id } }')).data.viewer.id).toBe(person.id);
      // Counted by triggers, which are on again.
      await createComment(app, author.key, all.posts[0].id);
      const { data: now } = await app.gql('{ posts(limit: 1) { commentCount } }', { key: author.key });
      expect(now.posts[0].commentCount).toBe(all.posts[0].commentCount + 1);
      acknowledged.push('once');
      await tell(['new', LAST]);
      expect(await listeners.judge()).toBe(0);
      expect(await late.judge()).toBe(3);
    },
  );

  it(
    'rejects a folder that a server uses, one without a database, and a database that is not in a folder',
    WAIT,
    async () => {
      const dataDir = await temporaryFolder();
      const url = await createTarget('refusals');
      await startServer(dataDir);
      const other = await temporaryFolder();
      for (const [rejected, reason] of [
        [await copyTo(dataDir, url), `"${dataDir}" is in use by another process`],
        [await copyTo(other, url), `There is no embedded database in "${other}"`],
        [await copyTo(dataDir, url, { DATABASE_URL: url }), 'unset it'],
        [
          await copyTo(dataDir, url.replace(/\/[^/]*$/, '/is_not_there')),
          'create the database or correct its name',
        ],
      ] as const) {
        expect(rejected).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(ONE_LINE) });
        expect(rejected.stderr).toContain(reason);
      }
      expect(await copyTo(dataDir, 'mysql://x')).toMatchObject({ code: 2, stdout: '' });
    },
  );
});
