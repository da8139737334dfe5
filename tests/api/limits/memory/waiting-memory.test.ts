import { expect, it, onTestFinished } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { holdTable } from '../../../support/database/blocked.ts';
import { readMetric } from '../../../support/metrics.ts';
import { liveBytes } from '../../../support/processes/live-bytes.ts';
import { dataOf } from '../../../support/rejection.ts';
import { clockOf } from '../../../support/time/stepped-clock.ts';

const QUERY = '{ posts(limit: 1) { id } }';
const VALUES = Array.from({ length: 19_000 }, () => []);
const MANY = 30;

const app = useApp({
  settings: {
    MAX_CONCURRENT_OPERATIONS: '1',
  },
  // The look-up of the key is done once: a held table then holds up operations alone.
  clock: clockOf(() => 1_800_000_000_000),
});

it('what waits in line does not keep the values of variables that it does not declare', async () => {
  const { key } = await app.account();
  dataOf(await app.gql(QUERY, { key }));
  const waiting = () => readMetric(app, 'content_graph_graphql_operations_waiting');
  const held = await holdTable(app, 'posts');
  onTestFinished(held.release);
  const ask = () => app.gql(QUERY, { key, variables: { z: VALUES } });
  const asked = [ask()];
  await expect.poll(() => readMetric(app, 'content_graph_graphql_operations_running')).toBe(1);
  // What the first ones load and compile is there for good.
  asked.push(...Array.from({ length: 5 }, ask));
  await expect.poll(waiting).toBe(5);
  const before = await liveBytes();
  asked.push(...Array.from({ length: MANY }, ask));
  await expect.poll(waiting).toBe(5 + MANY);
  // Each value is 50 bytes at least. A request and its body take a fifth of that.
  expect(((await liveBytes()) - before) / MANY).toBeLessThan(25 * VALUES.length);
  await held.release();
  for (const response of await Promise.all(asked)) dataOf(response);
});
