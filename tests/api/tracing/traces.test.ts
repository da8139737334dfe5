import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/platform/log/log.ts';
import { openTracing } from '../../../src/platform/tracing/open-tracing.ts';
import { type TestApp, useAccount, useApp } from '../../support/app.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { type ReceivedSpan, useCollector } from '../../support/otlp.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { type ChangeStream, subscribeToChanges } from '../../support/streams/changes.ts';

const CREATE_ALONE = 'mutation Write($text: String!) { createPost(title: $text, body: $text) { id } }';
const CREATE_WHOLE =
  'mutation Write($text: String!) { createPost(title: $text, body: $text) { id author { email } } }';

/** A trace id of the test's own, as a client sends it. */
let traces = 0;
function newTraceparent(flags = '01') {
  traces += 1;
  const traceId = (0xabcd0000 + traces).toString(16).padStart(32, '0');
  return { traceId, header: `00-${traceId}-00f067aa0ba902b7-${flags}` };
}

describe('A trace', () => {
  const collector = useCollector();
  const app = useApp({ settings: collector.settings });
  const ada = useAccount(app);
  let other: Pick<TestApp, 'fetch'>;
  let stream: ChangeStream;

  /** Another instance with its own traces, and a stream that it delivers to. */
  async function subscribed(): Promise<void> {
    const log = createLogger({ level: 'silent', pretty: false });
    other = secondInstance(app, { tracing: await openTracing(app.config.tracing, 'other', log) });
    stream = await subscribeToChanges(other, { key: ada.key });
  }

  /** The spans of a trace, once one of each of these names is among them. */
  async function spansOf(traceId: string, names: readonly string[]): Promise<readonly ReceivedSpan[]> {
    const found = () => collector.spans.filter((span) => span.traceId === traceId);
    await expect.poll(() => found().map(({ name }) => name)).toEqual(expect.arrayContaining([...names]));
    return found();
  }

  it.each([
    ['one statement', CREATE_ALONE, {}, ['post_insert']],
    ['one statement with a key', CREATE_ALONE, { 'idempotency-key': 'a key of 9f1c' }, ['post_insert_keyed']],
    ['a transaction', CREATE_WHOLE, { 'idempotency-key': 'another key' }, ['transaction', 'post_insert']],
  ])('goes from a mutation by %s to its delivery by another instance', async (_, query, headers, inside) => {
    await subscribed();
    const { traceId, header } = newTraceparent();
    const text = `a secret text of ${traceId}`;
    const response = await app.gql(query, {
      key: ada.key,
      variables: { text },
      headers: { ...headers, traceparent: header },
    });
    expect(response.errors).toBeUndefined();
    await stream.until(({ got }) => got.length > 0);
    const mine = ['POST /graphql', 'admission', 'mutation', ...inside, 'send events', 'process events'];
    const spans = await spansOf(traceId, mine);
    const named = (name: string) => {
      const [span, more] = spans.filter((one) => one.name === name);
      expect([name, more]).toEqual([name, undefined]);
      if (span === undefined) throw new Error(`there is no span ${name}`);
      return span;
    };
    const [request, mutation, sent, delivery] = [
      'POST /graphql',
      'mutation',
      'send events',
      'process events',
    ].map(named);
    expect(request).toMatchObject({
      kind: 2,
      parentId: '00f067aa0ba902b7',
      failed: false,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/graphql',
        'http.response.status_code': 200,
      },
    });
    expect(mutation).toMatchObject({
      parentId: request?.spanId,
      attributes: { 'graphql.operation.type': 'mutation', 'graphql.operation.name': 'Write' },
    });
    expect(named('admission').parentId).toBe(request?.spanId);
    expect(sent?.kind).toBe(4);
    expect(delivery).toMatchObject({
      kind: 5,
      parentId: sent?.spanId,
      links: [sent?.spanId],
      attributes: {
        'messaging.operation.type': 'process',
        'content_graph.event.kind': 'POST_CREATED',
        'content_graph.streams': 1,
      },
    });
    expect(delivery?.resource['service.instance.id']).not.toBe(request?.resource['service.instance.id']);
    expect(request?.resource['service.name']).toBe('content-graph');
    // Whatever is below it, all of it hangs together.
    const ids = new Set(spans.map(({ spanId }) => spanId));
    expect(spans.filter((span) => span !== request && !ids.has(span.parentId))).toEqual([]);
    // No value and no credential.
    const all = Buffer.concat(collector.bodies).toString('latin1');
    for (const secret of [text, ada.key, ada.email, ...Object.values(headers)])
      expect([secret, all.includes(secret)]).toEqual([secret, false]);
    await stream.close();
  });

  it('of a mutation that is rolled back has sent nothing', async () => {
    const { traceId, header } = newTraceparent();
    const gone = '01890000-0000-7000-8000-000000000000';
    const { data, errors } = await app.gql(
      `mutation { createPost(title: "t", body: "b") { id author { email } } updatePost(id: "${gone}", title: "u") { id } }`,
      { key: ada.key, headers: { traceparent: header } },
    );
    expect([data, errors?.[0]?.extensions.code]).toEqual([null, 'NOT_FOUND']);
    const spans = await spansOf(traceId, ['POST /graphql', 'transaction']);
    expect(spans.find(({ name }) => name === 'transaction')?.attributes).toMatchObject({
      'content_graph.committed': false,
    });
    expect(spans.find(({ name }) => name === 'mutation')).toMatchObject({
      failed: true,
      attributes: { 'error.type': 'NOT_FOUND' },
    });
    expect(spans.filter(({ name }) => name === 'send events')).toEqual([]);
  });

  it('of a retry, or of a change to the same, has sent nothing', async () => {
    const headers = { 'idempotency-key': 'the same' };
    const ask = async (query: string) => {
      const { traceId, header } = newTraceparent();
      const variables = { text: 'the same' };
      const asking = { key: ada.key, variables, headers: { ...headers, traceparent: header } };
      const { data } = await app.gql(query, asking);
      return { id: String(data.createPost?.id), traceId };
    };
    const first = await ask(CREATE_ALONE);
    const again = await ask(CREATE_ALONE);
    expect(again.id).toBe(first.id);
    await spansOf(first.traceId, ['POST /graphql', 'send events']);
    const { traceId, header } = newTraceparent();
    await app.gql(`mutation { updatePost(id: "${first.id}", title: "the same") { id } }`, {
      key: ada.key,
      headers: { traceparent: header },
    });
    for (const id of [again.traceId, traceId]) {
      const spans = await spansOf(id, ['POST /graphql', 'mutation']);
      expect(spans.filter(({ name }) => name === 'send events')).toEqual([]);
    }
  });

  it('of an operation that is rejected ends, with the code', async () => {
    const { traceId, header } = newTraceparent();
    const { status } = await app.fetch(
      '/graphql',
      graphqlPost('subscription { postCreated { id } }', {
        key: ada.key,
        headers: { traceparent: header, accept: 'text/event-stream', 'last-event-id': 'nonsense' },
      }),
    );
    expect(status).toBe(200);
    const spans = await spansOf(traceId, ['POST /graphql', 'subscription']);
    expect(spans.find(({ name }) => name === 'subscription')).toMatchObject({ failed: true });
  });

  it('does not grow when its events are told again', async () => {
    await subscribed();
    const { traceId, header } = newTraceparent();
    await app.gql(CREATE_ALONE, { key: ada.key, variables: { text: 't' }, headers: { traceparent: header } });
    await stream.until(({ got }) => got.length > 0);
    await spansOf(traceId, ['process events']);
    const before = collector.spans.length;
    const resumed = await subscribeToChanges(other, { key: ada.key, header: stream.startId });
    await resumed.until(({ got }) => got.length > 0);
    await app.gql(CREATE_ALONE, { key: ada.key, variables: { text: 'u' } });
    await resumed.until(({ got }) => got.length > 1);
    await expect
      .poll(() => collector.spans.slice(before).map(({ name }) => name))
      .toContain('process events');
    const delivered = collector.spans.filter((span) => span.traceId === traceId && span.kind === 5);
    expect(delivered).toHaveLength(1);
    await resumed.close();
    await stream.close();
  });

  it('has a delivery for each group, and none for a stream', async () => {
    await subscribed();
    const opening = newTraceparent();
    const same = await Promise.all(
      [1, 2].map(() => subscribeToChanges(other, { key: ada.key, headers: { traceparent: opening.header } })),
    );
    const apart = await subscribeToChanges(other, { key: ada.key, filter: { author: ada.id } });
    // Streams that ask for the same are together from their first event on.
    await app.gql(CREATE_ALONE, { key: ada.key, variables: { text: 'first' } });
    for (const one of [stream, ...same, apart]) await one.until(({ got }) => got.length > 0);
    const { traceId, header } = newTraceparent();
    await app.gql(CREATE_ALONE, { key: ada.key, variables: { text: 't' }, headers: { traceparent: header } });
    for (const one of [stream, ...same, apart]) await one.until(({ got }) => got.length > 1);
    const deliveries = async () =>
      (await spansOf(traceId, ['process events']))
        .filter(({ name }) => name === 'process events')
        .map(({ attributes }) => attributes['content_graph.streams']);
    await expect.poll(async () => (await deliveries()).sort()).toEqual([1, 3]);
    const opened = await spansOf(opening.traceId, ['POST /graphql', 'subscription']);
    expect(opened.filter(({ kind }) => kind === 5)).toEqual([]);
    for (const one of [stream, ...same, apart]) await one.close();
  });
});
