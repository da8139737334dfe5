import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { expectEnded } from '../support/credentials/holdings.ts';
import { connect, instanceThrough, NEVER_MS, postgresOf } from '../support/database/postgres.ts';
import { switchedProxy } from '../support/database/switched-proxy.ts';
import { readMetric } from '../support/metrics.ts';
import { readEventStream } from '../support/streams/event-stream.ts';
import { requestStream } from '../support/streams/subscriber.ts';

const app = useApp();

it('an ending of which nobody told is noticed once the connection that listens is back', async () => {
  const { url } = postgresOf(app);
  const proxy = await switchedProxy(url);
  await proxy.on();
  const addresses = { url, directUrl: proxy.url };
  const instance = await instanceThrough(app, addresses, { credentialRecheckMs: NEVER_MS });
  const hears = () => readMetric(instance, 'content_graph_notification_listener_up');
  await expect.poll(hears).toBe(1);
  const { id, key } = await app.account();
  const stream = readEventStream(await requestStream(instance, { key }));
  await stream.block();
  const client = await connect(url);
  // Without triggers, as if the notification had been lost with the connection.
  await client.query('SET session_replication_role = replica');
  await client.query('UPDATE api_keys SET revoked_at = now() WHERE user_id = $1', [id]);
  await proxy.off();
  await expect.poll(hears).toBe(0);
  await proxy.on();
  await expectEnded(stream);
});
