import { expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { secondInstance } from '../../support/second-instance.ts';

const app = useApp({ settings: { TRUST_PROXY: '127.0.0.1', ANONYMOUS_READ: 'true' } });
const QUERY = '{ posts { id author { name } } }';

interface Use {
  readonly client: string;
  readonly account: string | null;
  readonly requests: number;
  readonly cost: number;
  readonly databaseMs: number;
}

async function top(...options: readonly string[]): Promise<Use[]> {
  const { json, failure } = await adminCommand(app, ['top', ...options]);
  expect(failure).toBeUndefined();
  return json;
}

it('What each client uses is told for all instances, by each measure; addresses stand for those without credentials', async () => {
  const other = secondInstance(app);
  const { key, id: account, email } = await app.account();
  const { json: keys } = await adminCommand(app, ['api-key', 'list']);
  const { id: client } = keys.find(({ user }: { user: string }) => user === email);
  const { data, extensions } = await app.gql(QUERY, { key, headers: { 'x-query-cost': '1' } });
  expect(data.posts).toEqual([]);
  const complexity = Number(Object(extensions?.cost).complexity);
  for (const instance of [app, other])
    for (let count = 0; count < 5; count += 1)
      await (await instance.fetch('/graphql', graphqlPost(QUERY, { key }))).text();
  const anonymous = async (address: string, times: number) => {
    for (let count = 0; count < times; count += 1)
      await app.fetch('/graphql', graphqlPost('{ __typename }', { headers: { 'x-forwarded-for': address } }));
  };
  await anonymous('203.0.113.60', 20);
  await anonymous('2001:db8:1:2:3::4', 1);
  await anonymous('2001:db8:1:2::5', 1);
  for (let count = 0; count < 50; count += 1) await app.fetch('/health/live');

  // Stored every few seconds, by each instance at its own time.
  await expect
    .poll(async () => (await top()).map(({ requests }) => requests), { timeout: 20_000 })
    .toEqual([20, 11, 2]);
  expect(await top()).toEqual([
    { client: '203.0.113.60', account: null, requests: 20, cost: expect.any(Number), databaseMs: 0 },
    { client, account, requests: 11, cost: 11 * complexity, databaseMs: expect.any(Number) },
    { client: '2001:db8:1:2::/64', account: null, requests: 2, cost: expect.any(Number), databaseMs: 0 },
  ]);
  expect((await top('--by', 'cost'))[0]).toMatchObject({ client });
  const [most] = await top('--by', 'database', '--seconds', '600');
  expect(most).toMatchObject({ client });
  expect(most?.databaseMs).toBeGreaterThan(0);
  // It can be blocked as it is told.
  expect((await adminCommand(app, ['block', '2001:db8:1:2::/64'])).failure).toBeUndefined();
});

it.each([
  ['--seconds', '0'],
  ['--seconds', '601'],
  ['--seconds', 'x'],
  ['--by', 'name'],
])('%s %s is refused', async (...options) => {
  await expect(adminCommand(app, ['top', ...options])).rejects.toMatchObject({
    exitCode: expect.any(Number),
  });
});
