import { beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../../../src/auth/api-keys.ts';
import type { Scope } from '../../../../src/auth/scopes.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { useAccount, useApp } from '../../../support/app.ts';
import { createPost, past } from '../../../support/content.ts';
import { askToken, oauthClient } from '../../../support/credentials/oauth.ts';
import { useCountedDatabase } from '../../../support/database/statement-count.ts';
import { graphqlPost, readResponse } from '../../../support/graphql.ts';
import type { Parsed } from '../../../support/parsed.ts';
import { dataOf, expectRejected } from '../../../support/rejection.ts';
import { secondInstance } from '../../../support/second-instance.ts';
import { subscribe } from '../../../support/streams/subscriber.ts';
import { clockOf } from '../../../support/time/stepped-clock.ts';

const counted = useCountedDatabase();
// Held still, the clock keeps the credentials cached.
const now = Date.now();
const app = useApp({ settings: counted.settings, clock: clockOf(() => now) });
const author = useAccount(app);
const admin = useAccount(app, { role: 'admin' });
/** The newest change first. */
let ids: string[] = [];

beforeAll(async () => {
  const data = Array.from({ length: 25 }, (_, at) => ({
    id: newId(),
    authorId: author.id,
    title: `Draft ${at}`,
    body: 'Secret.',
    tags: ['t'],
    // Three to a millisecond; the one that was created first was changed last.
    createdAt: past(at),
    updatedAt: past(1_000 - Math.floor(at / 3)),
  }));
  await app.prisma.draft.createMany({ data });
  ids = data
    .sort((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime() || (a.id < b.id ? 1 : -1))
    .map(({ id }) => id);
});

/** The database may write the response; or resolvers run. */
const WAYS = [true, false];

const ask = async (lookAhead: boolean, key: string, query: string, variables: object = {}) =>
  readResponse(
    await secondInstance(app, { lookAhead }).fetch('/graphql', graphqlPost(query, { key, variables })),
  );

describe.each(WAYS)('User.drafts and User.draftsConnection (look-ahead: %s)', (lookAhead) => {
  it('show the account’s drafts, newest change first', async () => {
    const query = '{ viewer { drafts { id } more: drafts(limit: 100, offset: 20) { id } } }';
    const { viewer } = dataOf(await ask(lookAhead, author.key, query));
    expect(viewer.drafts.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 20));
    expect(viewer.more.map(({ id }: { id: string }) => id)).toEqual(ids.slice(20));
  });

  /** The pages of seven, from one cursor to the next. */
  async function walk(
    size: 'first' | 'last',
    page: (at: string | null) => Promise<Parsed>,
  ): Promise<string[][]> {
    const pages: string[][] = [];
    let at: string | null = null;
    do {
      const { nodes, pageInfo }: Parsed = await page(at);
      pages.push(nodes.map(({ id }: { id: string }) => id));
      const { hasNextPage, hasPreviousPage, startCursor, endCursor } = pageInfo;
      at = size === 'first' ? hasNextPage && endCursor : hasPreviousPage && startCursor;
    } while (at);
    return pages;
  }

  it.each(['first', 'last'] as const)('are paged to the end by %s', async (size) => {
    const cursor = size === 'first' ? 'after' : 'before';
    const query = `query ($at: String) { viewer { draftsConnection(${size}: 7, ${cursor}: $at) { nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`;
    const pages = await walk(
      size,
      async (at) => dataOf(await ask(lookAhead, author.key, query, { at })).viewer.draftsConnection,
    );
    expect((size === 'first' ? pages : pages.reverse()).flat()).toEqual(ids);
  });

  it.each(['drafts { id }', 'draftsConnection { nodes { id } }'])(
    'are FORBIDDEN to all other accounts, admins among them: %s',
    async (field) => {
      const query = `query ($id: ID!) { user(id: $id) { name ${field} } }`;
      const variables = { id: author.id };
      expectRejected(await ask(lookAhead, admin.key, query, variables), {
        code: 'FORBIDDEN',
        message: /can only be read by the account itself/,
      });
      const { user } = dataOf(await ask(lookAhead, author.key, query, variables));
      expect(user[field.split(' ')[0] ?? '']).toBeDefined();
    },
  );

  it('need drafts:read', async () => {
    const { key } = await app.account({
      scopes: ['posts:read', 'posts:write', 'users:read', 'drafts:write'],
    });
    expectRejected(await ask(lookAhead, key, '{ viewer { drafts { id } } }'), {
      code: 'FORBIDDEN',
      status: 403,
      message: /drafts:read/,
    });
  });
});

describe.each(WAYS)('Query.node and Query.nodes (look-ahead: %s)', (lookAhead) => {
  const NODES =
    'query ($ids: [ID!]!, $id: ID!) { node(id: $id) { __typename ... on Draft { title body } } nodes(ids: $ids) { id ... on Draft { title } } }';
  const look = async (key: string) =>
    dataOf(await ask(lookAhead, key, NODES, { id: ids[0], ids: [author.id, ids[1], newId(), ids[2]] }));

  it('find a draft for its author', async () => {
    const { node, nodes } = await look(author.key);
    expect(node).toEqual({ __typename: 'Draft', title: expect.any(String), body: 'Secret.' });
    expect(nodes.map((one: { id: string } | null) => one?.id)).toEqual([
      author.id,
      ids[1],
      undefined,
      ids[2],
    ]);
  });

  it('find no draft of another account, as for an id that matches nothing', async () => {
    expect(await look(admin.key)).toEqual({ node: null, nodes: [{ id: author.id }, null, null, null] });
  });

  it.each<readonly Scope[]>([
    ['posts:read', 'users:read'],
    ['posts:read', 'users:read', 'drafts:write'],
  ])('find no draft with %s and %s alone', async (...scopes) => {
    const { key } = await createApiKey(app.database, { userId: author.id, name: 'k', scopes: [...scopes] });
    expect(await look(key)).toEqual({ node: null, nodes: [{ id: author.id }, null, null, null] });
  });
});

describe('An application of another party', () => {
  it('sees no draft with posts:read, not even of the account that it acts for', async () => {
    const scopes = ['posts:read', 'users:read'] as const;
    const client = await oauthClient(app, { owner: author, grants: ['client_credentials'], scopes });
    const { body } = await askToken(app, client, { grant_type: 'client_credentials' });
    const key = body.access_token;
    const query = '{ node(id: "$id") { __typename } viewer { name } }'.replace('$id', ids[0] ?? '');
    expect(dataOf(await app.gql(query, { key }))).toEqual({
      node: null,
      viewer: { name: expect.any(String) },
    });
    expectRejected(await app.gql('{ viewer { drafts { id } } }', { key }), {
      code: 'FORBIDDEN',
      status: 403,
    });
  });
});

describe('The statements of a request', () => {
  it.each([
    '{ viewer { name drafts { title body } draftsConnection(first: 3) { nodes { title } pageInfo { hasNextPage } } } }',
    '{ node(id: "$id") { ... on Draft { title body } } }',
  ])('are one: %s', async (written) => {
    const query = written.replace('$id', ids[0] ?? '');
    const read = async () => dataOf(await app.gql(query, { key: author.key }));
    expect(JSON.stringify(await read())).toContain('Secret.');
    const before = counted.completed.length;
    await read();
    expect(counted.completed.slice(before).filter((tag) => tag.startsWith('SELECT'))).toHaveLength(1);
  });
});

describe('A subscription', () => {
  it('shows drafts to their author alone, also if another account opens the same one', async () => {
    const query = 'subscription { postCreated { title author { drafts(limit: 1) { id } } } }';
    const mine = await subscribe(app, { key: author.key, query });
    const theirs = await subscribe(app, { key: admin.key, query });
    await createPost(app, author.key, { title: 'shown' });
    expect(await mine.receive()).toMatchObject({ title: 'shown', errors: undefined });
    const { title, errors = [] } = await theirs.receive();
    expect([title, errors.map(({ extensions }) => extensions.code)]).toEqual([undefined, ['FORBIDDEN']]);
  });
});
