import { describe, expect, it } from 'vitest';
import { ORIGIN, useApp } from '../../support/app.ts';
import { readMetric, readMetricBy } from '../../support/metrics.ts';

const CREATE = 'mutation Create($title: String!) { createPost(title: $title, body: "b") { id } }';

describe('/metrics', () => {
  const app = useApp();
  const by = (name: string, label: string) =>
    readMetricBy({ fetch: (request) => app.app.fetch(request) }, name, label);

  it('count every error of a response by code, and those of other routes', async () => {
    const { key } = await app.account();
    await app.gql('{ a: nothing, b: nothing }', { key });
    await app.fetch('/nowhere');
    const errors = await by('content_graph_response_errors_total', 'code');
    expect(errors.get('GRAPHQL_VALIDATION_FAILED')).toBe(2);
    expect(errors.get('NOT_FOUND')).toBe(1);
  });

  it('time operations by name, and unnamed and invalid ones together', async () => {
    const { key } = await app.account();
    await app.gql('query Mine { viewer { id } }', { key });
    await app.gql('query Mine { viewer { id } }', { key });
    await app.gql('{ viewer { id } }', { key });
    await app.gql('query Invalid { nothing }', { key });
    const times = await by('content_graph_graphql_operation_duration_seconds_count', 'operation');
    expect(times.get('Mine')).toBe(2);
    expect(times.get('anonymous')).toBeGreaterThan(0);
    expect(times.get('other')).toBeGreaterThan(0);
    expect(times.has('Invalid')).toBe(false);
  });

  it('have at most 102 operations, whatever clients call theirs', async () => {
    const { key } = await app.account();
    for (let count = 0; count < 200; count += 1) await app.gql(`query N${count} { __typename }`, { key });
    const times = await by('content_graph_graphql_operation_duration_seconds_count', 'operation');
    expect(times.size).toBeLessThanOrEqual(102);
    expect(times.get('Mine')).toBe(2);
  });

  it('have the time of statements, the pool and the state of the database', async () => {
    const { key } = await app.account();
    const before = await readMetric(app, 'content_graph_database_statement_duration_seconds_count');
    await app.gql('{ viewer { name } }', { key });
    expect(await readMetric(app, 'content_graph_database_statement_duration_seconds_count')).toBeGreaterThan(
      before,
    );
    expect(await readMetric(app, 'content_graph_database_connection_wait_seconds_count')).toBeGreaterThan(0);
    expect(await readMetric(app, 'content_graph_database_up')).toBe(1);
    expect(await readMetric(app, 'content_graph_database_connections_open')).toBeGreaterThan(0);
    // The service's own looks at the database wait for its one connection too.
    await expect.poll(() => readMetric(app, 'content_graph_database_connections_waiting')).toBe(0);
  });

  it('count what becomes of idempotency keys', async () => {
    const { key } = await app.account();
    const before = await by('content_graph_idempotency_requests_total', 'outcome');
    const headers = { 'idempotency-key': 'a-key-of-the-metrics' };
    for (const title of ['one', 'one', 'other'])
      await app.gql(CREATE, { key, headers, variables: { title } });
    const after = await by('content_graph_idempotency_requests_total', 'outcome');
    const more = (outcome: string) => (after.get(outcome) ?? 0) - (before.get(outcome) ?? 0);
    expect(more('stored_statement') + more('stored_transaction')).toBe(1);
    expect([more('replayed'), more('reused'), more('not_stored')]).toEqual([1, 1, 0]);
  });

  it('count the response of a transaction that was stored under an idempotency key', async () => {
    const { key } = await app.account();
    const before = await by('content_graph_idempotency_requests_total', 'outcome');
    const mutation =
      'mutation { a: createPost(title: "a", body: "b") { id } b: createPost(title: "b", body: "b") { id } }';
    await app.gql(mutation, { key, headers: { 'idempotency-key': 'a-key-of-a-transaction' } });
    const after = await by('content_graph_idempotency_requests_total', 'outcome');
    const more = (outcome: string) => (after.get(outcome) ?? 0) - (before.get(outcome) ?? 0);
    expect([more('stored_transaction'), more('not_stored')]).toEqual([1, 0]);
  });

  it('count event streams by format and how they ended', async () => {
    const { key } = await app.account();
    const controller = new AbortController();
    const response = await app.app.fetch(
      new Request(`${ORIGIN}/graphql`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          accept: 'text/event-stream',
        },
        body: JSON.stringify({ query: 'subscription { postCreated { id } }' }),
        signal: controller.signal,
      }),
    );
    const reader = response.body?.getReader();
    await reader?.read();
    expect((await by('content_graph_event_streams_open_by_format', 'format')).get('sse')).toBe(1);
    expect(await readMetric(app, 'content_graph_subscription_cohorts')).toBe(1);
    await reader?.cancel();
    controller.abort();
    expect((await by('content_graph_event_streams_ended_total', 'reason')).get('client_disconnected')).toBe(
      1,
    );
    expect((await by('content_graph_event_streams_open_by_format', 'format')).get('sse')).toBe(0);
  });
});

describe('/metrics of a service with small buckets', () => {
  const app = useApp({ settings: { RATE_LIMIT_BURST: '2', RATE_LIMIT_PER_SECOND: '0.001' } });

  it('count what buckets allow and reject', async () => {
    const { key } = await app.account();
    for (let count = 0; count < 3; count += 1) await app.gql('{ __typename }', { key });
    const text = await (await app.fetch('/metrics')).text();
    expect(text).toMatch(/^content_graph_rate_limit_checks_total\{bucket="client",outcome="allowed"\} 2$/m);
    expect(text).toMatch(/^content_graph_rate_limit_checks_total\{bucket="client",outcome="rejected"\} 1$/m);
    expect(text).toMatch(/^content_graph_rate_limit_checks_total\{bucket="account",outcome="allowed"\} 2$/m);
    expect(text).toMatch(/^content_graph_rate_limit_checks_total\{bucket="account",outcome="rejected"\} 0$/m);
  });
});
