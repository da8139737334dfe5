import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { readMetric } from '../../support/metrics.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { requestStream, subscribe, titlesOf } from '../../support/streams/subscriber.ts';

describe('event streams', () => {
  const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });
  const caller = useAccount(app);

  it('get one event for each post that is committed and none for one rolled back', async () => {
    const stream = await subscribe(app, { key: caller.key });
    await app.gql(
      'mutation { a: createPost(title: "kept", body: "b") { id } b: createPost(title: "undone", body: "") { id } }',
      caller,
    );
    await app.gql('mutation { createPost(title: "undone", body: "") { id } }', caller);
    await createPost(app, caller.key, { title: 'the end' });
    const titles = titlesOf(await stream.until('the end'));
    const { data } = await app.gql('{ posts(limit: 100) { title } }', caller);
    const stored = data.posts.map(({ title }: { title: string }) => title).reverse();
    expect(titles).toEqual(stored);
    expect(titles).not.toContain('undone');
  });

  it('get the posts made at another instance, and resume there', async () => {
    const other = secondInstance(app);
    const stream = await subscribe(other, { key: caller.key });
    await createPost(app, caller.key, { title: 'from elsewhere' });
    const [event] = await stream.until('from elsewhere');
    await createPost(app, caller.key, { title: 'later' });
    const moved = await subscribe(app, { key: caller.key, header: event?.id });
    expect(titlesOf(await moved.until('later'))).toEqual(['later']);
  });

  it('count what is open, sent and replayed, and how late', async () => {
    const names = [
      'content_graph_event_streams_open',
      'content_graph_events_sent_total',
      'content_graph_events_replayed_total',
      'content_graph_event_delivery_lag_seconds_count',
      'content_graph_event_streams_aborted_total',
    ];
    const read = async () => Promise.all(names.map((name) => readMetric(app, name)));
    const stream = await subscribe(app, { key: caller.key });
    const before = await read();
    await createPost(app, caller.key, { title: 'counted' });
    await stream.until('counted');
    const resumed = await subscribe(app, { key: caller.key, header: stream.startId });
    await resumed.until('counted');
    const after = await read();
    expect(after.map((value, index) => value - (before[index] ?? 0))).toEqual([1, 2, 1, 1, 0]);
  });
});

describe('a service that goes down', () => {
  const app = useApp();

  it('ends its streams with a retry hint and without `complete`, and every client goes on elsewhere', async () => {
    const { key } = await app.account();
    const stream = await subscribe(app, { key });
    await createPost(app, key, { title: 'before' });
    const [seen] = await stream.until('before');
    app.app.endStreams();
    expect(await stream.stream.block()).toMatchObject({
      retry: expect.stringMatching(/^\d+$/),
      event: undefined,
      data: undefined,
      id: undefined,
    });
    expect(await stream.stream.block()).toBeUndefined();
    await createPost(app, key, { title: 'meanwhile' });
    const elsewhere = await subscribe(secondInstance(app), { key, header: seen?.id });
    expect((await elsewhere.receive()).title).toBe('meanwhile');
  });

  it('answers a stream request with 200 and a place to come back with', async () => {
    const { key } = await app.account();
    app.app.endStreams();
    const late = await subscribe(app, { key });
    expect(await late.stream.block()).toMatchObject({
      retry: expect.stringMatching(/^\d+$/),
      event: undefined,
    });
    expect(await late.stream.block()).toBeUndefined();
    await createPost(app, key, { title: 'missed' });
    const elsewhere = await subscribe(secondInstance(app), { key, header: late.startId });
    expect((await elsewhere.receive()).title).toBe('missed');
  });

  it('still completes what is complete', async () => {
    const { key } = await app.account();
    app.app.endStreams();
    const rejected = await subscribe(app, { key, header: 'nonsense' });
    expect((await rejected.receive()).errors).toHaveLength(1);
    expect(await rejected.stream.event()).toMatchObject({ event: 'complete' });
    const query = await requestStream(app, { key, query: '{ __typename }' });
    expect(await query.text()).toContain('event: complete');
  });
});
