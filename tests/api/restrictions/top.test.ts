import { expect, it, onTestFinished, vi } from 'vitest';
import { createApp } from '../../../src/app/create-app.ts';
import { type ClientUsageRow, createClientUsage } from '../../../src/auth/client-usage.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { admittedRequest } from '../../support/admitted-request.ts';
import { ORIGIN, type TestApp, useApp } from '../../support/app.ts';
import { visitor } from '../../support/credentials/session.ts';
import { JWT_SECRET, signToken } from '../../support/credentials/tokens.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { subscribe } from '../../support/streams/subscriber.ts';

const app = useApp({ settings: { TRUST_PROXY: '127.0.0.1', ANONYMOUS_READ: 'true', JWT_SECRET } });
const log = createLogger({ level: 'error', pretty: false });
const QUERY = '{ posts { id author { name } } }';

interface Use {
  readonly client: string;
  readonly account: string | null;
  readonly requests: number;
  readonly complexity: number;
  readonly databaseMs: number;
}

async function top(...options: readonly string[]): Promise<Use[]> {
  const { json, failure } = await adminCommand(app, ['top', ...options]);
  expect(failure).toBeUndefined();
  return json;
}

/** The rows of an account. */
const topOf = async (account: string): Promise<Use[]> =>
  (await top('--seconds', '600')).filter((use) => use.account === account);

/** An instance that has stored what it counted once it is closed. */
function ownInstance(): Pick<TestApp, 'fetch'> & { close(): Promise<void> } {
  const { fetch, close } = createApp({ config: app.config, database: app.database, log });
  return { fetch: (path, init) => fetch(new Request(new URL(path, ORIGIN), init)), close };
}

it('What each client uses is told for all instances, by each measure; addresses stand for those without credentials', async () => {
  const other = secondInstance(app);
  const { key, id: account, email } = await app.account();
  const { json: keys } = await adminCommand(app, ['api-key', 'list']);
  const { id: client } = keys.find(({ user }: { user: string }) => user === email);
  const { data, extensions } = await app.gql(QUERY, { key, headers: { 'x-show-cost': '1' } });
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
  await expect.poll(async () => (await top()).map(({ requests }) => requests)).toEqual([20, 11, 2]);
  expect(await top()).toEqual([
    { client: '203.0.113.60', account: null, requests: 20, complexity: expect.any(Number), databaseMs: 0 },
    { client, account, requests: 11, complexity: 11 * complexity, databaseMs: expect.any(Number) },
    {
      client: '2001:db8:1:2::/64',
      account: null,
      requests: 2,
      complexity: expect.any(Number),
      databaseMs: 0,
    },
  ]);
  expect((await top('--sort-by', 'complexity'))[0]).toMatchObject({ client });
  const [most] = await top('--sort-by', 'database', '--seconds', '600');
  expect(most).toMatchObject({ client });
  expect(most?.databaseMs).toBeGreaterThan(0);
  // It can be blocked as it is told.
  expect((await adminCommand(app, ['block', 'add', '2001:db8:1:2::/64'])).failure).toBeUndefined();
});

it('Use with a session or a JWT is listed as session or jwt, with the account', async () => {
  const { id, cookie } = await visitor(app);
  const token = await signToken(id);
  const { fetch, close } = ownInstance();
  const ask = async (options: Parameters<typeof graphqlPost>[1], times: number) => {
    for (let count = 0; count < times; count += 1)
      expect((await fetch('/graphql', graphqlPost(QUERY, options))).status).toBe(200);
  };
  await ask({ headers: { cookie, origin: ORIGIN } }, 3);
  await ask({ key: token }, 2);
  await close();
  expect(await topOf(id)).toMatchObject([
    { client: 'session', account: id, requests: 3 },
    { client: 'jwt', account: id, requests: 2 },
  ]);
});

it('A subscription counts once, when it opens', async () => {
  const { key, id } = await app.account();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const instance = ownInstance();
  const requests = async () => (await topOf(id)).map((use) => use.requests);
  const stream = await subscribe(instance, { key });
  vi.advanceTimersByTime(5_000);
  await expect.poll(requests).toEqual([1]);
  await stream.close();
  await instance.close();
  expect(await requests()).toEqual([1]);
});

it('Of 150 clients, the 100 largest by each measure are stored, and the sums of the rest as "other"', async () => {
  const clients = Array.from({ length: 150 }, (_, index) => ({
    client: `198.51.100.${index}`,
    account: null,
    requests: 1 + index,
    cost: 1 + ((index + 20) % 150),
    databaseMs: 1 + ((index + 40) % 150),
  }));
  const uses = createClientUsage({ database: app.database, log });
  for (const { client, requests, cost, databaseMs } of clients) {
    const { caller, clientAddress } = admittedRequest(client);
    uses.note({ caller, clientAddress, complexity: cost, databaseMs });
    for (let count = 1; count < requests; count += 1)
      uses.note({ caller, clientAddress, complexity: 0, databaseMs: 0 });
  }
  await uses.close();
  const rows = (await app.prisma.clientUse.findMany()).map((row) => row.uses as unknown as ClientUsageRow[]);
  const stored = rows.find((row) => row.some(({ client }) => client.startsWith('198.51.100.'))) ?? [];
  const total = (rest: readonly ClientUsageRow[], measure: 'requests' | 'cost' | 'databaseMs') =>
    rest.reduce((sum, use) => sum + use[measure], 0);
  // By no measure do these belong to the largest.
  const rest = clients.slice(0, 10);
  const other = {
    client: 'other',
    account: null,
    requests: total(rest, 'requests'),
    cost: total(rest, 'cost'),
    databaseMs: total(rest, 'databaseMs'),
  };
  expect(stored).toHaveLength(141);
  expect(stored).toEqual(expect.arrayContaining([...clients.slice(10), other]));
});

it.each([
  ['--seconds', '0'],
  ['--seconds', '601'],
  ['--seconds', 'x'],
  ['--sort-by', 'name'],
])('%s %s is rejected', async (...options) => {
  await expect(adminCommand(app, ['top', ...options])).rejects.toMatchObject({
    exitCode: expect.any(Number),
  });
});
