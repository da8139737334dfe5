import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type KeyedRequest, send } from '../support/keyed.ts';
import { asApp, CREATE } from '../support/processes/backups.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { type Settings, temporaryFolder } from '../support/processes/process.ts';
import { admin, demoKey, startServer } from '../support/processes/server.ts';

const FORMER = 'the-s3cret-of-the-first-machine-00000000000';
const OTHER = 'the-s3cret-of-the-other-machine-00000000000';
const TITLE = 'created once';

it('A restored stored response needs the SECRET_KEY of its instance, and a retry never executes the mutation again', async () => {
  const [dataDir, folder] = [await migratedFolder(), await temporaryFolder()];
  const [file, restored] = [join(folder, 'backup'), join(folder, 'restored')];

  async function withServer<T>(
    of: string,
    settings: Settings,
    work: (app: ReturnType<typeof asApp>) => Promise<T>,
  ) {
    const server = await startServer(of, settings);
    try {
      return await work(asApp(server));
    } finally {
      server.kill('SIGTERM');
      await server.exited;
    }
  }

  const { request, first } = await withServer(dataDir, { SECRET_KEY: FORMER }, async (app) => {
    const key = await demoKey(dataDir);
    const request: KeyedRequest = { query: CREATE, variables: { title: TITLE }, idempotencyKey: 'k', key };
    return { request, first: await send(app, request) };
  });
  expect(first).toMatchObject({ status: 200, replayed: null });
  expect((await admin(['database', 'backup', file, '--without-secret-key'], dataDir)).code).toBe(0);
  expect(await admin(['database', 'restore', file], restored)).toMatchObject({ code: 0 });

  const retry = (settings: Settings) =>
    withServer(restored, settings, async (app) => {
      const response = await send(app, request);
      const { json } = await admin(['sql', `SELECT id FROM posts WHERE title = '${TITLE}'`], restored);
      return {
        status: response.status,
        replayed: response.replayed,
        isSame: response.text === first.text,
        posts: json.length,
      };
    });
  const replay = { status: 200, replayed: 'true', isSame: true, posts: 1 };
  expect(await retry({ SECRET_KEY: OTHER })).toEqual({
    status: 500,
    replayed: null,
    isSame: false,
    posts: 1,
  });
  expect(await retry({ SECRET_KEY: OTHER, SECRET_KEY_PREVIOUS: FORMER })).toEqual(replay);
  expect(await retry({ SECRET_KEY: FORMER })).toEqual(replay);
});
