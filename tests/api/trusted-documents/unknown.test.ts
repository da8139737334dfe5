import { describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app/create-app.ts';
import {
  oldUnpublishedUsage,
  storeUnpublishedUsage,
} from '../../../src/engine/documents/trusted/document-store.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { ORIGIN, type TestApp, useAccount, useApp } from '../../support/app.ts';
import { visitor } from '../../support/credentials/session.ts';
import { startTestJobRunner } from '../../support/job-runner.ts';
import { readMetricBy } from '../../support/metrics.ts';
import { askMembers, type Members, published } from '../../support/trusted-documents.ts';

const app = useApp({ settings: { ANONYMOUS_READ: 'true' } });
const account = useAccount(app);

type Policy = typeof app.config.trustedDocuments;
const configOf = (trustedDocuments: Policy) => ({ ...app.config, trustedDocuments });

/** Does something with an instance of its own, which has stored what it counted when it resolves. Its counts by client. */
async function counted(
  policy: Policy,
  work: (
    ask: (members: Members, key?: string, headers?: Record<string, string>) => Promise<number>,
  ) => Promise<unknown>,
): Promise<Map<string, number>> {
  const log = createLogger({ level: 'error', pretty: false });
  const instance = createApp({ config: configOf(policy), database: app.database, log });
  const fetch = (path: string, init?: RequestInit) =>
    instance.fetch(new Request(new URL(path, ORIGIN), init));
  try {
    await work(async (members, key, headers = {}) => {
      const given = key === undefined ? { headers } : { key, headers };
      return (await askMembers({ fetch }, members, given)).status;
    });
  } finally {
    await instance.close();
    // Closing waits for 5 seconds only.
    const { queue } = app.database;
    await expect.poll(() => queue.activeCount + queue.waitingCount).toBe(0);
  }
  return readMetricBy(instance, 'content_graph_graphql_unpublished_operations_total', 'client');
}

interface Listed {
  readonly client: string;
  readonly clientName: string | null;
  readonly kind: string;
  readonly operationName: string | null;
  readonly digest: string | null;
  readonly rejectedBy: string;
  readonly count: number;
  readonly firstUsedAt: string;
  readonly lastUsedAt: string;
}

/** `document list-unpublished` under a policy: of one client, or all. */
async function unknown(policy: Policy, client?: string): Promise<Listed[]> {
  const { json } = await adminCommand({ database: app.database, config: configOf(policy) }, [
    'document',
    'list-unpublished',
  ]);
  return json.filter((row: Listed) => client === undefined || row.client === client);
}

/** A key with its id, under a name. */
async function namedKey(name: string, more: readonly string[] = []): Promise<{ id: string; key: string }> {
  const scopes = ['--scopes', 'posts:read,users:read'];
  return (
    await adminCommand(app, [
      'api-key',
      'create',
      '--user',
      account.email,
      '--name',
      name,
      ...scopes,
      ...more,
    ])
  ).json;
}

describe('the texts that clients send', () => {
  it('are told by client and document, once for all ways to print one', async () => {
    const { id, key } = await namedKey('reader');
    const asked = Date.now();
    const metric = await counted('allowed', async (ask) => {
      await ask({ query: 'query Told { viewer { id } }' }, key);
      await ask({ query: 'query Told {\n  viewer { id, } # told\n}' }, key);
      await ask({ query: 'query A { viewer { id } } query B { viewer { name } }', operationName: 'A' }, key);
    });
    const rows = (await unknown('allowed', id)).sort((a, b) => b.count - a.count);
    expect(rows).toEqual([
      {
        client: id,
        clientName: 'reader',
        kind: 'api-key',
        operationName: 'Told',
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        rejectedBy: 'listed',
        count: 2,
        firstUsedAt: expect.any(String),
        lastUsedAt: expect.any(String),
      },
      expect.objectContaining({ operationName: 'A, B', count: 1 }),
    ]);
    expect(Math.abs(Date.parse(rows[0]?.lastUsedAt ?? '') - asked)).toBeLessThan(600_000);
    expect(metric.get(id)).toBe(3);
    // Counted on by the next instance.
    await counted('allowed', (ask) => ask({ query: 'query Told { viewer { id } }' }, key));
    expect((await unknown('allowed', id)).find(({ operationName }) => operationName === 'Told')?.count).toBe(
      3,
    );
  });

  it('are those of sessions and of strangers, too', async () => {
    const { cookie } = await visitor(app);
    const metric = await counted('allowed', async (ask) => {
      await ask({ query: 'query Visited { posts { id } }' }, undefined, { cookie, origin: ORIGIN });
      await ask({ query: 'query Strange { posts { id } }' });
    });
    expect(await unknown('allowed', 'session')).toMatchObject([
      { clientName: null, kind: 'session', operationName: 'Visited', count: 1 },
    ]);
    expect(await unknown('allowed', 'anonymous')).toMatchObject([
      { clientName: null, kind: 'anonymous', operationName: 'Strange', count: 1 },
    ]);
    expect([metric.get('session'), metric.get('anonymous')]).toEqual([1, 1]);
  });

  it('are neither introspection, nor published, nor named by their ids, nor rejected for another reason', async () => {
    const { id, key } = await namedKey('quiet');
    const text = 'query Quiet { viewer { id } }';
    const documentId = await published(app, text);
    const metric = await counted('allowed', async (ask) => {
      for (const query of ['{ __typename }', '{ __schema { queryType { name } } }', '{ nothing }', '{', text])
        await ask({ query }, key);
      await ask({ documentId }, key);
      await ask({ query: '{ viewer { id } }' }, 'wrong');
    });
    expect(await unknown('allowed', id)).toEqual([]);
    expect(metric.get(id) ?? 0).toBe(0);
  });

  it('are told no more once they are published, and as what the next step rejects under listed', async () => {
    const { id, key } = await namedKey('two steps');
    const text = 'query Steps { viewer { id } }';
    await counted('allowed', (ask) => ask({ query: text }, key));
    expect(await unknown('allowed', id)).toMatchObject([{ rejectedBy: 'listed', count: 1 }]);
    await published(app, text);
    expect(await unknown('allowed', id)).toEqual([]);
    expect(await unknown('off', id)).toEqual([]);
    expect(await unknown('listed', id)).toMatchObject([{ rejectedBy: 'required', count: 1 }]);
  });

  it('count under listed, whether they are rejected or would be by the next step', async () => {
    const { id, key } = await namedKey('listed');
    const text = 'query Listed { viewer { id } }';
    await published(app, text);
    const metric = await counted('listed', async (ask) => {
      expect(await ask({ query: text }, key)).toBe(200);
      expect(await ask({ query: 'query NotListed { viewer { id } }' }, key)).toBe(400);
      expect(await ask({ query: 'query NotListed { viewer { id } }' }, key)).toBe(400);
    });
    const rows = (await unknown('listed', id)).sort((a, b) => a.count - b.count);
    expect(rows).toMatchObject([
      { operationName: 'Listed', rejectedBy: 'required', count: 1 },
      { operationName: 'NotListed', rejectedBy: 'listed', count: 2 },
    ]);
    expect(metric.get(id)).toBe(2);
  });

  it('do not count where the feature is off', async () => {
    const { id, key } = await namedKey('off');
    const metric = await counted('off', (ask) => ask({ query: 'query Off { viewer { id } }' }, key));
    expect(await unknown('off', id)).toEqual([]);
    expect(metric.get(id)).toBeUndefined();
  });

  it('take at most 100 rows of a client, and one for the rest', async () => {
    const { id, key } = await namedKey('many');
    const texts = Array.from({ length: 1_000 }, (_, at) => `query Many${at} { viewer { a${at}: id } }`);
    const often = texts.slice(0, 10);
    const askAll = (queries: readonly string[]) =>
      counted('allowed', async (ask) => {
        for (let at = 0; at < queries.length; at += 50)
          await Promise.all(queries.slice(at, at + 50).map((query) => ask({ query }, key)));
      });
    // However long it takes: counts may be stored in between.
    await askAll([...often, ...often, ...texts.slice(10, 400)]);
    const metric = await askAll(texts.slice(400));
    const rows = await unknown('allowed', id);
    const rest = rows.filter(({ digest }) => digest === null);
    expect(rest).toHaveLength(1);
    expect(rest[0]?.operationName).toBeNull();
    expect(rows.length).toBeLessThanOrEqual(101);
    expect(rows.length).toBeGreaterThan(90);
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(1_010);
    // Of those that are not kept apart, it is not known whether they are published.
    expect(rest[0]?.rejectedBy).toBeNull();
    expect(metric.get(id)).toBeGreaterThanOrEqual(200);
    expect(metric.get(id)).toBeLessThanOrEqual(600);
    // Those that were sent most often are kept.
    const kept = rows.filter(({ count, digest }) => count === 2 && digest !== null);
    expect(kept).toHaveLength(10);
  });

  it('are known to be published however long they are', async () => {
    const { id, key } = await namedKey('long');
    const text = `query Long { viewer { id } } #${'x'.repeat(20_000)}`;
    await published(app, text);
    const metric = await counted('allowed', (ask) => ask({ query: text }, key));
    expect(await unknown('allowed', id)).toEqual([]);
    expect(metric.get(id)).toBeUndefined();
    await counted('allowed', (ask) => ask({ query: text.replace('Long', 'Longer') }, key));
    expect(await unknown('allowed', id)).toMatchObject([{ operationName: 'Longer', rejectedBy: 'listed' }]);
  });

  it('are not stored, nor any of their literals and variables', async () => {
    const { key } = await namedKey('secretive');
    await counted('allowed', async (ask) => {
      await ask(
        {
          query:
            'query Kept($id: ID!) { post(id: $id) { id } other: post(id: "s3cret-literal") { id } } # s3cret-comment',
          variables: { id: 's3cret-variable' },
        },
        key,
      );
    });
    const rows = await app.prisma.$queryRawUnsafe('SELECT to_jsonb(t)::text AS row FROM text_uses t');
    const stored = JSON.stringify(rows);
    expect(stored).toContain('Kept');
    expect(stored).not.toContain('s3cret');
    expect(stored).not.toContain('post');
  });

  it('are forgotten 30 days after they were sent last', async () => {
    const { id, key } = await namedKey('gone');
    await counted('allowed', async (ask) => {
      await ask({ query: 'query Old { viewer { id } }' }, key);
      await ask({ query: 'query Recent { viewer { id } }' }, key);
    });
    await app.prisma.$executeRawUnsafe(
      `UPDATE text_uses SET last_used_at = now() - CASE WHEN operation_name = 'Old' THEN interval '31 days' ELSE interval '29 days' END WHERE client = '${id}'`,
    );
    await startTestJobRunner(app, [oldUnpublishedUsage]).runAll();
    expect(await unknown('allowed', id)).toMatchObject([{ operationName: 'Recent' }]);
  });
});

/** A text of a client, by its number. */
interface StoredText {
  readonly client: string;
  readonly text: number;
  readonly count: number;
}

/** Stores uses of texts as an instance does. The name of the operation is the number of the text. */
const store = ({ database }: Pick<TestApp, 'database'>, texts: readonly StoredText[]) =>
  storeUnpublishedUsage(
    database,
    texts.map(({ client, text, count }) => ({
      client,
      kind: 'api-key',
      digest: `\\x${text.toString(16).padStart(64, '0')}`,
      names: String(text),
      count,
    })),
    false,
  );

it('A rare text is dropped after a day where its client has more than 50 texts', async () => {
  const aged = (client: string, counts: readonly number[]) =>
    counts.map((count, text) => ({ client, text, count }));
  await store(app, aged('busy', [1, 2, 3, 1, ...Array.from({ length: 47 }, () => 3)]));
  await store(app, aged('calm', [1, 2, ...Array.from({ length: 48 }, () => 3)]));
  await app.prisma.$executeRaw`UPDATE text_uses SET last_used_at = now() - CASE WHEN client = 'busy'
    AND operation_name = '3' THEN interval '23 hours' ELSE interval '25 hours' END WHERE client IN ('busy', 'calm')`;
  await startTestJobRunner(app, [oldUnpublishedUsage]).runAll();
  const left = (await unknown('allowed', 'busy')).map(({ operationName }) => Number(operationName));
  expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: 49 }, (_, index) => index + 2));
  expect(await unknown('allowed', 'calm')).toHaveLength(50);
});

describe('The texts of all clients', () => {
  const own = useApp({ settings: { TRUSTED_DOCUMENTS: 'allowed' } });

  it('take at most 10,000 rows, and the texts beyond are one row for each client, without a digest', async () => {
    const known = Array.from({ length: 10_000 }, (_, index) => ({
      client: `client ${index % 100}`,
      text: Math.floor(index / 100),
      count: 2,
    }));
    await store(own, known);
    await store(own, [
      { client: 'client 0', text: 0, count: 5 },
      { client: 'late', text: 1, count: 3 },
      { client: 'late', text: 2, count: 4 },
      { client: 'later', text: 1, count: 6 },
    ]);
    const rows: Listed[] = (await adminCommand(own, ['document', 'list-unpublished'])).json;
    const [rest, apart] = [true, false].map((without) =>
      rows.filter(({ digest }) => (digest === null) === without),
    );
    expect(apart).toHaveLength(10_000);
    expect(apart?.filter(({ count }) => count !== 2)).toMatchObject([{ client: 'client 0', count: 7 }]);
    expect(rest?.map(({ client, count }) => [client, count]).sort()).toEqual([
      ['late', 7],
      ['later', 6],
    ]);
  });
});
