import { expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { startApp, type TestApp } from '../../support/app.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { linesOf, WARN } from '../../support/log-lines.ts';
import { readMetric, readMetricBy } from '../../support/metrics.ts';

const from = (address: string, key?: string) =>
  graphqlPost('{ __typename }', { key, headers: { 'x-forwarded-for': address } });
const requestsOf = ({ logged }: TestApp, status: number) =>
  linesOf(logged, 'http.request').filter((line) => line.status === status);

it('Of the requests of a client that are rejected in a minute, one has a line, and one line has the number of the others', async () => {
  const settings = {
    TRUST_PROXY: '127.0.0.1',
    RATE_LIMIT_BURST: '5',
    RATE_LIMIT_PER_SECOND: '0.001',
    ANONYMOUS_READ: 'true',
  };
  const app = await startApp(await createTestDatabase(), { settings });
  try {
    const { key, id } = await app.account();
    const statuses = [];
    for (let count = 0; count < 105; count += 1) {
      statuses.push((await app.fetch('/graphql', from('203.0.113.1', key))).status);
      statuses.push((await app.fetch('/graphql', from('203.0.113.2'))).status);
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(200);
    expect(requestsOf(app, 200)).toHaveLength(10);
    const [keyed, anonymous, ...more] = requestsOf(app, 429);
    expect(more).toEqual([]);
    expect(keyed?.client).toMatch(`${id}:key:`);
    expect(keyed?.clientIp).toBeUndefined();
    expect(anonymous).toMatchObject({ clientIp: '203.0.113.2' });
    expect(anonymous?.client).toBeUndefined();

    expect((await adminCommand(app, ['block', 'add', '203.0.113.3'])).failure).toBeUndefined();
    await expect.poll(async () => (await app.fetch('/graphql', from('203.0.113.3'))).status).toBe(403);
    for (let count = 0; count < 10; count += 1) await app.fetch('/graphql', from('203.0.113.3'));
    expect(requestsOf(app, 403)).toMatchObject([{ clientIp: '203.0.113.3' }]);
    // Each of them is counted, by client where a client is no address.
    const { id: keyId } = JSON.parse(JSON.stringify(await app.prisma.apiKey.findFirstOrThrow()));
    const counted = await readMetricBy(app.app, 'content_graph_client_rejected_requests_total', 'client');
    expect(counted.get(keyId)).toBe(100);
    expect(counted.get('anonymous')).toBeGreaterThan(110);
    expect(await readMetric(app, 'content_graph_rate_limited_requests_total\\{reason="requests"\\}')).toBe(
      200,
    );
    expect(await readMetric(app, 'content_graph_blocked_requests_total')).toBeGreaterThan(10);
  } finally {
    await app.stop();
  }
  const told = linesOf(app.logged, 'http.requests_rejected');
  expect(told).toMatchObject([
    { level: WARN, client: expect.stringContaining(':key:'), rejectedCount: 99 },
    { level: WARN, client: 'ip:203.0.113.2', rejectedCount: 99 },
    { level: WARN, client: 'ip:203.0.113.3', rejectedCount: 10 },
  ]);
});
