import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { expectEnded } from '../support/credentials/holdings.ts';
import { connect, postgresOf } from '../support/database/postgres.ts';
import { readEventStream } from '../support/streams/event-stream.ts';
import { requestStream } from '../support/streams/subscriber.ts';

const app = useApp({ settings: { CREDENTIAL_RECHECK_MS: '30000' } });

it('an ending of which nobody told is noticed once the connection that listens is back', async () => {
  const { id, key } = await app.account();
  const stream = readEventStream(await requestStream(app, { key }));
  await stream.block();
  const client = await connect(postgresOf(app).url);
  // Without triggers, as if the notification had been lost with the connection.
  await client.query('SET session_replication_role = replica');
  await client.query('UPDATE api_keys SET revoked_at = now() WHERE user_id = $1', [id]);
  const endListener = async () => {
    const { rowCount } = await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
    );
    return rowCount;
  };
  await expect.poll(endListener).toBe(1);
  await expectEnded(stream);
});
