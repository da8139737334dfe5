import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { besidePool, postgresOf } from '../support/database/postgres.ts';
import { linesOf } from '../support/log-lines.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';

const app = useApp();
const CREATE = 'mutation { createPost(title: "t", body: "b") { id } }';

it('A sequence behind its table, as after logical replication, is 503, and the log and doctor say what to do', async () => {
  const { key } = await app.account();
  expect((await app.gql(CREATE, { key })).status).toBe(200);
  const database = await besidePool(app);
  await database.query(`INSERT INTO events (id, kind, root_id)
    SELECT nextval(pg_get_serial_sequence('events', 'id')), 'POST_CREATED', gen_random_uuid() FROM generate_series(1, 20)`);
  await database.query(`SELECT setval(pg_get_serial_sequence('events', 'id'), 1)`);

  const rejected = await app.gql(CREATE, { key });
  expect([rejected.status, rejected.errors?.[0]?.extensions.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
  await expect
    .poll(() => linesOf(app.logged, 'database.write_failed'))
    .toContainEqual(
      expect.objectContaining({
        reason: 'a sequence is behind its table',
        hint: expect.stringContaining('doctor'),
      }),
    );

  const checkOf = async () => {
    const settings = { DATABASE_URL: postgresOf(app).url };
    const { json } = await admin(['doctor'], await temporaryFolder(), settings);
    return json.find(({ check }: { check: string }) => check === 'sequences');
  };
  const found = await checkOf();
  expect(found).toMatchObject({ status: 'error', finding: 'sequences are behind their tables: events' });
  await database.query(found.action.replace('run in the database: ', ''));
  expect(await checkOf()).toMatchObject({ status: 'ok' });
  expect((await app.gql(CREATE, { key })).status).toBe(200);
});
