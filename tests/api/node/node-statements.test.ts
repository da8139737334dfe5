import { beforeAll, describe, expect, it } from 'vitest';
import { type App, createApp } from '../../../src/app/create-app.ts';
import { statement } from '../../../src/database/statement.ts';
import { nodeTypes } from '../../../src/engine/queries/node-type.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { buildSchema } from '../../../src/schema/schema.ts';
import { type Account, useApp } from '../../support/app.ts';
import { useCountedDatabase } from '../../support/database/statement-count.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';
import { graphqlRequest, type SeededNodes, seedNodes } from './seeded-nodes.ts';

/** Loaders look for an id in the table of each type. */
const TYPES = nodeTypes(buildSchema()).length;
/** Types whose rows only their owner finds. Without the scope, the service does not look for them. */
const PRIVATE_TYPES = nodeTypes(buildSchema()).filter(({ owner }) => owner !== undefined).length;

const KEPT_PLANS = statement<{ kept: number }>(
  'kept_plans',
  `SELECT generic_plans::int AS kept FROM pg_prepared_statements WHERE statement LIKE '%"kept":%' AND name LIKE 'whole_nodes%'`,
);

describe('The number of SQL statements for nodes', () => {
  // Held still, the clock keeps the credential cached: what is counted is the request's own work.
  const now = Date.now();
  const clock = clockOf(() => now);
  const counted = useCountedDatabase();
  const app = useApp({ settings: counted.settings, clock });
  let loaders: App;
  let reader: Account;
  let limited: Account;
  let seeded: SeededNodes;
  beforeAll(async () => {
    const { config, database } = app;
    const log = createLogger({ level: 'silent', pretty: false });
    loaders = createApp({ config, database, log, clock, lookAhead: false });
    reader = await app.account();
    limited = await app.account({ scopes: ['posts:read'] });
    seeded = await seedNodes(app, 34);
    return () => loaders.close();
  });

  /** The statements that reading these ids takes, and the nodes. */
  async function read(
    service: Pick<App, 'fetch'>,
    selection: string,
    ids: readonly string[],
    { key } = reader,
  ): Promise<{ statements: number; nodes: readonly unknown[] }> {
    const ask = () =>
      service.fetch(
        graphqlRequest(key, `query ($ids: [ID!]!) { nodes(ids: $ids) { ${selection} } }`, { ids }),
      );
    await ask();
    const before = counted.completed.length;
    const { data } = (await (await ask()).json()) as { data: { nodes: readonly unknown[] } };
    return { statements: counted.completed.length - before, nodes: data.nodes };
  }

  const hundred = () => seeded.mixed.slice(0, 100);
  const PLAIN = '__typename id ... on User { name } ... on Post { title } ... on Comment { body }';
  const NESTED = `... on User { posts(limit: 2) { title comments(limit: 1) { body } } }
    ... on Post { tags author { name } comments(limit: 1) { author { name } } }
    ... on Comment { author { name } post { title author { name } } }`;

  it.each([PLAIN, NESTED])('is one for a hundred mixed ids, whatever is selected: %s', async (selection) => {
    const { statements, nodes } = await read(app.app, selection, hundred());
    expect(nodes).toHaveLength(100);
    expect(nodes).not.toContain(null);
    expect(statements).toBe(1);
    expect((await read(app.app, selection, seeded.mixed.slice(0, 1))).statements).toBe(1);
  });

  it('is one per type if some of the objects are rejected', async () => {
    const { statements, nodes } = await read(app.app, PLAIN, hundred(), limited);
    expect(nodes.filter((node) => node === null)).toHaveLength(34);
    expect(statements).toBe(TYPES - PRIVATE_TYPES);
  });

  it('is one per type where loaders read, and one more per type and level below, for any number of ids', async () => {
    const plain = await read(loaders, PLAIN, hundred());
    expect(plain.nodes).not.toContain(null);
    expect(plain.statements).toBe(TYPES);
    expect((await read(loaders, PLAIN, seeded.posts.slice(0, 1))).statements).toBe(TYPES);
    const nested = await read(loaders, NESTED, hundred());
    expect(nested.nodes).toEqual((await read(app.app, NESTED, hundred())).nodes);
    expect((await read(loaders, NESTED, seeded.mixed.slice(0, 3))).statements).toBe(nested.statements);
  });

  it.each([
    [TYPES, 'id'],
    [TYPES, PLAIN],
    [TYPES + 1, '... on Post { comments(limit: 1) { body } }'],
  ])(
    'is the same for thirty root fields as for four, where loaders read: %i for %s',
    async (statements, selection) => {
      const count = async (ids: readonly string[]) => {
        const fields = ids.map((id, at) => `a${at}: node(id: "${id}") { ...N }`);
        const list = `nodes(ids: ${JSON.stringify(ids)}) { ...N }`;
        const ask = () =>
          loaders.fetch(
            graphqlRequest(
              reader.key,
              `{ ${[...fields, list].join('\n')} } fragment N on Node { ${selection} }`,
              {},
            ),
          );
        await ask();
        const before = counted.completed.length;
        const { data } = (await (await ask()).json()) as { data: Record<string, unknown> };
        const { nodes, ...single } = data;
        expect(Object.values(single)).toEqual(nodes);
        expect(nodes).not.toContain(null);
        return counted.completed.length - before;
      };
      expect(await count(seeded.mixed.slice(0, 3))).toBe(statements);
      expect(await count(seeded.mixed.slice(0, 29))).toBe(statements);
    },
  );

  it('is for one whose plan PostgreSQL keeps, however few the ids are', async () => {
    // PostgreSQL plans a prepared statement anew five times before it may keep a plan.
    for (let times = 0; times < 10; times += 1)
      await read(app.app, `kept: id ${NESTED}`, seeded.posts.slice(0, 1));
    const [plans] = await app.database.query(KEPT_PLANS, []);
    expect(plans?.kept).toBeGreaterThan(0);
  });

  it('is zero if no id is a UUID', async () => {
    for (const service of [app.app, loaders])
      expect(await read(service, PLAIN, ['a', 'b'])).toEqual({ statements: 0, nodes: [null, null] });
  });
});
