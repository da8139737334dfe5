import { randomUUID } from 'node:crypto';
import { buildASTSchema, parse, printSchema } from 'graphql';
import { describe, expect, it } from 'vitest';
import { printedWithoutDeprecated } from '../../../scripts/released/without-deprecated.ts';
import { usageReport } from '../../../src/admin/commands/deprecation-report.ts';
import { oldDeprecatedUsage, storeDeprecatedUsage } from '../../../src/engine/documents/deprecated-usage.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { ORIGIN, useAccount, useApp } from '../../support/app.ts';
import { visitor } from '../../support/credentials/session.ts';
import { type Ask, withInstance } from '../../support/deprecating-instance.ts';
import { startTestJobRunner } from '../../support/job-runner.ts';
import { deprecatingSchema } from '../../support/schema/deprecating-schema.ts';
import { publish, published } from '../../support/trusted-documents.ts';

/** Uses of `Post.body` by a client. */
const useOf = (client: string, count: number) => ({
  element: 'Post.body',
  client,
  kind: 'api-key',
  document: null,
  digest: null,
  count,
});

const app = useApp({ settings: { ANONYMOUS_READ: 'true' } });
const schema = deprecatingSchema();
const account = useAccount(app);

/** Does something with an instance of its own, which has stored what it counted when it resolves. */
const counted = (work: (ask: Ask) => Promise<unknown>) => withInstance(app, schema, work);

interface Listed {
  readonly element: string;
  readonly client: string;
  readonly release: string | null;
  readonly count: number;
  readonly firstUsedAt: string;
  readonly lastUsedAt: string;
}

/** `deprecation list-usage`, of one client. */
async function listed(client: string, ...options: string[]): Promise<Listed[]> {
  const { json } = await adminCommand(app, ['deprecation', 'list-usage', ...options]);
  return json.filter((row: Listed) => row.client === client);
}

async function namedKey(name: string): Promise<{ id: string; key: string }> {
  const scopes = ['--scopes', 'posts:read,users:read'];
  return (await adminCommand(app, ['api-key', 'create', '--user', account.email, '--name', name, ...scopes]))
    .json;
}

const BODY = 'query Old { posts(limit: 1) { body } }';
const CHOSEN = 'query ($orders: [Order!]) { chosen(orders: $orders) }';

describe('uses of what is deprecated', () => {
  it('are listed by element and client: since when, until when, and how often', async () => {
    const { id, key } = await namedKey('reader');
    const before = Date.now();
    await counted(async (ask) => {
      for (let times = 0; times < 3; times += 1) await ask({ query: BODY }, key);
      await ask({ query: CHOSEN, variables: { orders: ['OLD'] } }, key);
      await ask({ query: CHOSEN, variables: { orders: ['NEW'] } }, key);
      await ask({ query: 'query New { posts(limit: 1) { title } }' }, key);
    });
    const rows = await listed(id);
    expect(rows).toEqual([
      {
        element: 'Order.OLD',
        client: id,
        clientName: 'reader',
        kind: 'api-key',
        release: null,
        firstUsedAt: expect.any(String),
        lastUsedAt: expect.any(String),
        count: 1,
      },
      expect.objectContaining({ element: 'Post.body', count: 3 }),
    ]);
    // Counted on by the next instance, also of another day.
    await app.prisma.$executeRawUnsafe(
      `UPDATE deprecated_uses SET day = day - 40, first_used_at = first_used_at - interval '40 days',
         last_used_at = last_used_at - interval '40 days' WHERE client = '${id}'`,
    );
    await counted((ask) => ask({ query: BODY }, key));
    const [, body] = await listed(id);
    expect(body).toMatchObject({ element: 'Post.body', count: 4 });
    const days = (text = '') => Math.round((Date.parse(text) - before) / 86_400_000);
    expect([days(body?.firstUsedAt), days(body?.lastUsedAt)]).toEqual([-40, 0]);
    const since = new Date(before - 20 * 86_400_000).toISOString();
    expect(await listed(id, '--since', since)).toMatchObject([{ element: 'Post.body', count: 1 }]);
  });

  it('are those of sessions and of strangers, too, without telling them apart', async () => {
    const { cookie } = await visitor(app);
    await counted(async (ask) => {
      await ask({ query: BODY }, undefined, { cookie, origin: ORIGIN });
      await ask({ query: BODY });
      await ask({ query: BODY }, undefined, { 'x-forwarded-for': '192.0.2.7' });
    });
    const [session] = await listed('session');
    const [anonymous] = await listed('anonymous');
    expect(session).toMatchObject({ clientName: null, kind: 'session', count: 1 });
    expect(anonymous).toMatchObject({ clientName: null, kind: 'anonymous', count: 2 });
  });

  it('name the release of the published document, and the report the documents themselves', async () => {
    const { id, key } = await namedKey('released');
    const document = await published(app, BODY, { client: 'web', release: '1.4.0' });
    await published(app, 'query New { posts(limit: 1) { title } }', { client: 'web', release: '1.4.0' });
    await counted(async (ask) => {
      await ask({ documentId: document }, key);
      await ask({ query: `${BODY} # as a text` }, key);
    });
    const releases = (await listed(id)).map(({ release, count }) => ({ release, count }));
    expect(releases).toHaveLength(2);
    expect(releases).toEqual(
      expect.arrayContaining([
        { release: '1.4.0', count: 1 },
        { release: null, count: 1 },
      ]),
    );
    await publish(app, { [document]: BODY }, { client: 'app', release: '2.0' });
    const report = await usageReport(app.database, schema, undefined);
    expect(report.documents.filter((one) => one.id === document)).toEqual([
      { id: document, client: 'app', release: '2.0', elements: ['Post.body'] },
      { id: document, client: 'web', release: '1.4.0', elements: ['Post.body'] },
    ]);
    expect(report.documents.filter(({ elements }) => elements.length === 0)).toEqual([]);
    // Made with the code that has removed it, too.
    const removed = buildASTSchema(parse(printedWithoutDeprecated(printSchema(schema))));
    const late = await usageReport(app.database, removed, undefined);
    expect(late.documents.filter(({ id: of }) => of === document)).toEqual(
      report.documents.filter(({ id: of }) => of === document),
    );
    expect(report.usage.filter(({ client }) => client === id)).toHaveLength(2);
    expect(report.createdAt.getTime()).toBeGreaterThan(report.since.getTime());
  });

  it('are a report as the command prints it, of what the schema deprecates', async () => {
    const since = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const { json } = await adminCommand(app, ['deprecation', 'report', '--since', since]);
    expect(json).toEqual({
      createdAt: expect.any(String),
      since: `${since}T00:00:00.000Z`,
      usage: expect.any(Array),
      documents: [],
    });
  });
});

describe('what an instance stores', () => {
  const uses = (client: string, count = 1) => [useOf(client, count)];

  it('counts once, however often it is stored', async () => {
    const [instance, client] = [randomUUID(), randomUUID()];
    await storeDeprecatedUsage(app.database, { instance, number: 1 }, uses(client, 5));
    await storeDeprecatedUsage(app.database, { instance, number: 1 }, uses(client, 5));
    expect(await listed(client)).toMatchObject([{ count: 5 }]);
    await storeDeprecatedUsage(app.database, { instance, number: 2 }, uses(client, 2));
    await storeDeprecatedUsage(app.database, { instance: randomUUID(), number: 1 }, uses(client, 1));
    expect(await listed(client)).toMatchObject([{ count: 8 }]);
  });

  it('goes after 400 days', async () => {
    const [old, kept] = [randomUUID(), randomUUID()];
    for (const client of [old, kept])
      await storeDeprecatedUsage(app.database, { instance: randomUUID(), number: 1 }, uses(client));
    await app.prisma.$executeRawUnsafe(
      `UPDATE deprecated_uses SET day = day - CASE WHEN client = '${old}' THEN 401 ELSE 399 END WHERE client IN ('${old}', '${kept}')`,
    );
    await startTestJobRunner(app, [oldDeprecatedUsage]).runAll();
    expect(await listed(old)).toEqual([]);
    expect(await listed(kept)).toHaveLength(1);
  });
});

describe('a day', () => {
  const own = useApp();

  it('has at most 10,000 rows: clients beyond count together, and those that are known go on', async () => {
    const store = (clients: readonly string[], number: number) =>
      storeDeprecatedUsage(
        own.database,
        { instance: '00000000-0000-4000-8000-000000000001', number },
        clients.map((client) => useOf(client, 2)),
      );
    const names = (prefix: string) => Array.from({ length: 4_000 }, (_, index) => `${prefix}${index}`);
    await store(names('a'), 1);
    await store(names('b'), 2);
    await store(names('c'), 3);
    await store(['a0', 'd0'], 4);
    const { json } = await adminCommand(own, ['deprecation', 'list-usage']);
    const counts = new Map<string, number>(json.map(({ client, count }: Listed) => [client, count]));
    expect(counts.size).toBeLessThanOrEqual(10_000);
    expect([...counts.values()].reduce((sum, count) => sum + count)).toBe(24_004);
    expect(counts.get('a0')).toBe(4);
    // At midnight another day begins.
    const days = await own.prisma.$queryRaw<unknown[]>`SELECT DISTINCT day FROM deprecated_uses`;
    if (days.length > 1) return;
    expect(counts.has('d0')).toBe(false);
    expect(counts.get('other')).toBeGreaterThan(2_000);
  });
});
