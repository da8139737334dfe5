import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { readMetric } from '../../support/metrics.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { receivedIn, subscribeMultipart } from '../../support/streams/multipart-stream.ts';
import { type Method, subscribe, titlesOf } from '../../support/streams/subscriber.ts';

const METHODS: readonly Method[] = ['GET', 'POST'];
const TRANSPORTS = { multipart: subscribeMultipart, 'Server-Sent Events': subscribe };
type Transport = keyof typeof TRANSPORTS;
const PAIRS: readonly (readonly [Transport, Transport])[] = [
  ['multipart', 'multipart'],
  ['multipart', 'Server-Sent Events'],
  ['Server-Sent Events', 'multipart'],
];

describe.each(METHODS)('an id of a multipart stream, over %s', (method) => {
  const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '10000' } });
  const caller = useAccount(app);

  it.each(PAIRS)('from %s goes on in %s, at any instance', async (before, after) => {
    const first = await TRANSPORTS[before](app, { key: caller.key, method });
    for (const title of ['one', 'two', 'three']) await createPost(app, caller.key, { title });
    const events = await first.until('three');
    await first.close();
    await createPost(app, caller.key, { title: 'missed' });
    const ids = [first.startId, ...events.map(({ id }) => id)];
    for (const [seen, id] of ids.entries())
      for (const place of ['header', 'parameter'] as const) {
        const instance = seen % 2 === 0 ? app : secondInstance(app);
        const again = await TRANSPORTS[after](instance, { key: caller.key, method, [place]: id });
        expect(again.startId).toBe(id);
        const titles = titlesOf(await again.until('missed'));
        expect(titles).toEqual(['one', 'two', 'three', 'missed'].slice(seen));
        await again.close();
      }
    expect(await readMetric(app, 'content_graph_event_streams_resumed_total')).toBeGreaterThan(0);
  });

  /** One payload with the error and the current position, and the end. */
  async function expectRejected(id: string, code: string): Promise<void> {
    const rejected = await subscribeMultipart(app, { key: caller.key, method, header: id });
    const payload = await rejected.payload();
    expect(payload).not.toHaveProperty('data');
    const { errors, id: current } = receivedIn(payload);
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual([code]);
    expect(current).toBe(rejected.startId);
    expect(await rejected.part()).toBeUndefined();
    expect(rejected.closed).toBe(true);
    const onward = await subscribeMultipart(app, { key: caller.key, method, header: current });
    await createPost(app, caller.key, { title: 'onward' });
    expect((await onward.receive()).title).toBe('onward');
    await onward.close();
  }

  it('is BAD_USER_INPUT where it is malformed', async () => {
    await expectRejected('nonsense', 'BAD_USER_INPUT');
  });
});
