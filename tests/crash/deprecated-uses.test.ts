import { expect, it } from 'vitest';
import { createAccount } from '../../src/auth/accounts.ts';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { openDatabase } from '../../src/database/database.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { temporaryFolder, until } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { ownDatabase, UNLIMITED } from './own-database.ts';
import { type RestartedServer, restartedServer } from './restarted-server.ts';

/** CRASH_USES says how many requests there are. */
const REQUESTS = Number(process.env.CRASH_USES ?? 2_000);
const CLIENTS = 50;
const ROUNDS = 2;
const DEPRECATING = { NODE_OPTIONS: `--import=${new URL('./deprecating/hook.ts', import.meta.url).href}` };
const QUERIES = [
  { query: '{ posts(limit: 1) { body } }', element: 'Post.body' },
  { query: '{ posts(limit: 1, tag: "a") { id } }', element: 'Query.posts(tag:)' },
  {
    query: 'query ($orders: [Order!]) { chosen(orders: $orders) }',
    variables: { orders: ['OLD'] },
    element: 'Order.OLD',
  },
] as const;

interface Client {
  readonly id: string;
  readonly key: string;
}

/** One instance with the clients that ask it alone, and what is known of their uses. */
interface Side {
  readonly server: RestartedServer;
  readonly clients: readonly Client[];
  /** Answered, and neither lost with a killed process nor about to be. */
  kept: number;
}

interface Use {
  readonly client: string;
  readonly element: string;
  readonly count: number;
}

async function makeClients(url: string): Promise<Client[]> {
  const log = createLogger({ level: 'error', pretty: false });
  const database = await openDatabase({ config: loadConfig({ DATABASE_URL: url }), log });
  try {
    const { id } = await createAccount(database, {
      name: 'Owner',
      email: 'owner@example.com',
      role: 'member',
    });
    const clients: Client[] = [];
    for (let index = 0; index < CLIENTS; index += 1) {
      const made = await createApiKey(database, {
        userId: id,
        name: `client ${index}`,
        scopes: ['posts:read'],
      });
      clients.push({ id: made.id, key: made.key });
    }
    return clients;
  } finally {
    await database.close();
  }
}

it('uses of what is deprecated are counted at most once, and a killed instance loses what it had not yet stored', async () => {
  const database = { DATABASE_URL: await ownDatabase() };
  const folders = [await temporaryFolder(), await temporaryFolder()] as const;
  expect((await admin(['database', 'migrate'], folders[0], database)).code).toBe(0);
  const clients = await makeClients(database.DATABASE_URL);
  const start = async (folder: string, own: readonly Client[]): Promise<Side> => ({
    server: await restartedServer(folder, { ...UNLIMITED, ...database, ...DEPRECATING }),
    clients: own,
    kept: 0,
  });
  const sides = [
    await start(folders[0], clients.slice(0, CLIENTS / 2)),
    await start(folders[1], clients.slice(CLIENTS / 2)),
  ] as const;
  let sent = 0;

  async function ask(
    { server }: Side,
    { key }: Client,
    { query, ...rest }: (typeof QUERIES)[number],
  ): Promise<void> {
    sent += 1;
    const response = await fetch(`${await server.origin()}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ query, ...('variables' in rest ? { variables: rest.variables } : {}) }),
    });
    expect((await response.json()).errors).toBeUndefined();
    expect(response.headers.has('deprecation')).toBe(true);
  }

  /** Sends so many requests to both, all clients at once. Resolves to how many each has answered. */
  async function work(requests: number): Promise<number> {
    const each = Math.ceil(requests / CLIENTS);
    await Promise.all(
      sides.flatMap((side) =>
        side.clients.map(async (client) => {
          for (let index = 0; index < each; index += 1)
            await ask(side, client, QUERIES[index % QUERIES.length] ?? QUERIES[0]);
        }),
      ),
    );
    return (each * CLIENTS) / 2;
  }

  async function report(): Promise<readonly Use[]> {
    const { json } = await admin(['deprecation', 'report'], folders[0], { ...database, ...DEPRECATING });
    return json.usage;
  }
  const sum = (uses: readonly Use[]) => uses.reduce((total, { count }) => total + count, 0);
  async function stored({ clients: own }: Side): Promise<number> {
    const ids = new Set(own.map(({ id }) => id));
    return sum((await report()).filter(({ client }) => ids.has(client)));
  }

  const batch = REQUESTS / (2 * ROUNDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    const first = await work(batch);
    for (const side of sides) {
      side.kept += first;
      await until('all uses to be stored', async () => (await stored(side)) === side.kept);
    }
    const second = await work(batch);
    const [killed, alive] = round % 2 === 0 ? sides : [sides[1], sides[0]];
    await killed.server.crash();
    alive.kept += second;
    // Whether it stored them in the meantime is not known; no part of them is.
    const left = await stored(killed);
    expect(left).toBeGreaterThanOrEqual(killed.kept);
    expect(left).toBeLessThanOrEqual(killed.kept + second);
    killed.kept = left;
  }
  await Promise.all(sides.map(({ server }) => server.whileStopped(async () => undefined)));
  for (const side of sides) expect(await stored(side)).toBe(side.kept);

  const uses = await report();
  expect(sum(uses)).toBeLessThanOrEqual(sent);
  expect(new Set(uses.map(({ client }) => client)).size).toBe(CLIENTS);
  expect(new Set(uses.map(({ element }) => element))).toEqual(new Set(QUERIES.map(({ element }) => element)));
  process.stdout.write(`${sent} sent, ${sum(uses)} counted\n`);
});
