import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { LAGGING_BYTES } from '../../../../src/engine/subscriptions/subscriber-stream.ts';
import { useApp } from '../../../support/app.ts';
import { readMetric } from '../../../support/metrics.ts';
import { useSocket } from '../../../support/socket.ts';
import { subscribe } from '../../../support/streams/subscriber.ts';

const QUERY = 'subscription { postCreated { title body } }';
const BODY = 'b'.repeat(49_000);
const BATCH = 5;
/** Past what the buffers of the kernel take at both ends of a connection on this machine. */
const BATCHES = 100;

describe('a subscriber that stops reading', () => {
  const app = useApp();
  const socket = useSocket(app);
  const impatient = useSocket(app, { drainLimitMs: 300 });
  const metric = (name: string) => readMetric(app, name);

  /** Opens a stream on a bare socket and reads no further than its first block. */
  async function subscribeAndStop(key: string): Promise<Socket> {
    const { hostname, port } = new URL(impatient.origin);
    const connection = connect(Number(port), hostname);
    connection.write(
      `GET /graphql?${new URLSearchParams({ query: QUERY })} HTTP/1.0\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\nAccept: text/event-stream\r\n\r\n`,
    );
    await once(connection, 'readable');
    return connection;
  }

  async function createBatch(key: string, batch: number): Promise<string[]> {
    const titles = Array.from({ length: BATCH }, (_, index) => `${batch}-${index}`);
    const fields = titles.map(
      (title, index) => `p${index}: createPost(title: "${title}", body: $body) { id }`,
    );
    const query = `mutation ($body: String!) { ${fields.join(' ')} }`;
    const { errors } = await app.gql(query, { key, variables: { body: BODY } });
    expect(errors).toBeUndefined();
    return titles;
  }

  it('is cut off past a bound, delays nobody, and resumes by its last id without loss', async () => {
    const { key } = await app.account();
    const stopped = await subscribeAndStop(key);
    const reader = await subscribe(socket, { key, query: QUERY });
    const posted: string[] = [];
    for (let batch = 0; batch < BATCHES; batch += 1) {
      const titles = await createBatch(key, batch);
      posted.push(...titles);
      // The other one keeps up, event by event, whatever waits for the one that has stopped.
      for (const title of titles) expect((await reader.receive()).title).toBe(title);
    }
    await expect.poll(() => metric('content_graph_event_streams_aborted_total')).toBe(1);
    await expect.poll(() => metric('content_graph_event_streams_open')).toBe(1);

    const taken: Buffer[] = [];
    stopped.on('data', (part: Buffer) => taken.push(part));
    await once(stopped, 'close');
    const bytes = Buffer.concat(taken);
    const waited =
      (await metric('content_graph_events_sent_total')) - posted.length - bytes.length / BODY.length;
    expect(waited * BODY.length).toBeLessThan(LAGGING_BYTES + 5 * BODY.length);

    const events = bytes.toString().split('\n\n').slice(0, -1);
    const got = events.flatMap((event) => /"title":"([^"]+)"/.exec(event)?.[1] ?? []);
    const lastId = /^id: (\S+)$/m.exec(events.at(-1) ?? '')?.[1];
    expect(got.length).toBeLessThan(posted.length);
    const resumed = await subscribe(app, { key, query: QUERY, header: lastId });
    const rest = (await resumed.until(posted.at(-1) ?? '')).map(({ title }) => title);
    expect([...got, ...rest]).toEqual(posted);
  });
});
