import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { useAccount, useApp } from '../../../support/app.ts';
import { holdTable } from '../../../support/database/blocked.ts';
import { readMetric } from '../../../support/metrics.ts';
import { dataOf, expectRejected } from '../../../support/rejection.ts';
import { clockOf } from '../../../support/time/stepped-clock.ts';

const QUERY = '{ posts { id } }';

describe('operations at a time', () => {
  const app = useApp({
    settings: {
      MAX_CONCURRENT_OPERATIONS: '1',
      MAX_QUEUED_OPERATIONS: '1',
    },
    // The look-up of the key is done once: a held table then holds up operations alone.
    clock: clockOf(() => 1_800_000_000_000),
  });
  const account = useAccount(app);
  const another = useAccount(app);
  beforeAll(async () => {
    for (const { key } of [account, another]) await app.gql(QUERY, { key });
  });

  const ask = (query = QUERY) => app.gql(query, { key: account.key });
  const running = () => readMetric(app, 'content_graph_graphql_operations_running');
  const waiting = () => readMetric(app, 'content_graph_graphql_operations_waiting');

  /** One operation inside, one in line, for as long as the table is held. */
  async function full() {
    const held = await holdTable(app, 'posts');
    onTestFinished(held.release);
    const inside = ask();
    await expect.poll(running).toBe(1);
    const inLine = ask();
    await expect.poll(waiting).toBe(1);
    return { held, inside, inLine };
  }

  async function expectNobody(): Promise<void> {
    await expect.poll(running).toBe(0);
    expect(await waiting()).toBe(0);
  }

  it('are so many, a few more wait, and the rest of who has most of the line is sent away with 429', async () => {
    const { held, inside, inLine } = await full();
    const third = await ask();
    expectRejected(third, { code: 'RATE_LIMITED', status: 429 });
    expect(third.headers.get('retry-after')).toBe('1');
    expect((await ask('mutation { deletePost(id: "x") }')).status).toBe(429);
    const theirs = await app.gql(QUERY, { key: another.key });
    expectRejected(theirs, { code: 'SERVICE_UNAVAILABLE', status: 503 });
    expect(theirs.headers.get('retry-after')).toBe('1');
    await held.release();
    dataOf(await inside);
    dataOf(await inLine);
    await expectNobody();
    dataOf(await ask());
  });

  it('do not hold up what is answered without any', async () => {
    const { held, inside, inLine } = await full();
    expect((await app.fetch('/health/live')).status).toBe(200);
    expectRejected(await ask('{ nowhere }'), { code: 'GRAPHQL_VALIDATION_FAILED' });
    expectRejected(await ask('{'), { code: 'GRAPHQL_PARSE_FAILED' });
    await held.release();
    await Promise.all([inside, inLine]);
    await expectNobody();
  });

  it('leave their place whatever becomes of them', async () => {
    const failing = [
      'mutation { updatePost(id: "x", title: "t") { id } }',
      '{ posts(limit: 1000) { id } }',
      'mutation { createPost(title: "", body: "b") { id } }',
      '{ user(id: "x") { email } }',
    ];
    for (const query of failing) await ask(query);
    const wrong = await app.gql('query ($n: Int!) { posts(limit: $n) { id } }', { key: account.key });
    expect(wrong.errors).toHaveLength(1);
    await expectNobody();
    dataOf(await ask());
  });

  it('leave it when their clients have gone', async () => {
    const held = await holdTable(app, 'posts');
    onTestFinished(held.release);
    const gone = new AbortController();
    const send = () =>
      app
        .fetch('/graphql?a', {
          method: 'POST',
          signal: gone.signal,
          body: JSON.stringify({ query: QUERY }),
          headers: { 'content-type': 'application/json', authorization: `Bearer ${account.key}` },
        })
        .catch(() => undefined);
    const sent = send();
    await expect.poll(running).toBe(1);
    const second = send();
    await expect.poll(waiting).toBe(1);
    gone.abort();
    await held.release();
    await Promise.all([sent, second]);
    await expectNobody();
    dataOf(await ask());
  });
});
