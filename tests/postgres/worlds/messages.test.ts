import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { startApp } from '../../support/app.ts';
import { visitor } from '../../support/credentials/session.ts';
import { connect } from '../../support/database/postgres.ts';
import { startOwnPostgres } from '../../support/processes/own-postgres.ts';
import { temporaryFolder } from '../../support/processes/process.ts';
import { admin } from '../../support/processes/server.ts';
import { expectRejected } from '../../support/rejection.ts';

const WAITING =
  "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";

it('a server that speaks German says the same: who is deleted under way gets 401', async () => {
  const LOCPATH = await temporaryFolder();
  const run = promisify(execFile);
  await run('chmod', ['755', LOCPATH]);
  await run('localedef', ['-i', 'de_DE', '-f', 'UTF-8', `${LOCPATH}/de_DE.UTF-8`]);
  const server = await startOwnPostgres({
    env: { LOCPATH },
    initdb: ['--locale=de_DE.UTF-8'],
    settings: { lc_messages: 'de_DE.UTF-8', TimeZone: 'Europe/Berlin', DateStyle: 'German' },
  });
  const [client, observer] = [await connect(server.url), await connect(server.url)];
  await expect(client.query('SELECT 1/0')).rejects.toThrow('Division durch Null');
  const DATA_DIR = await temporaryFolder();
  const settings = { DATABASE_URL: server.url, DATA_DIR };
  expect(await admin(['database', 'migrate'], DATA_DIR, settings)).toMatchObject({ code: 0, stderr: '' });
  const app = await startApp({ settings, drop: async () => undefined });
  onTestFinished(() => app.stop());

  // The author goes while the post is written.
  const { id, key } = await visitor(app);
  await client.query('BEGIN');
  await client.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [id]);
  const response = app.gql('mutation { createPost(title: "t", body: "b") { id } }', { key });
  await expect.poll(async () => (await observer.query(WAITING)).rows.length).toBe(1);
  await client.query('DELETE FROM users WHERE id = $1', [id]);
  await client.query('COMMIT');
  expectRejected(await response, { code: 'UNAUTHENTICATED', status: 401 });
});
