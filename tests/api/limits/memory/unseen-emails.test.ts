import { beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../../../src/auth/api-keys.ts';
import type { Scope } from '../../../../src/auth/scopes.ts';
import { type Account, useAccount, useApp } from '../../../support/app.ts';
import { seedPosts } from '../../../support/content.ts';
import { watchedDatabase } from '../../../support/database/watched.ts';
import { graphqlPost, readResponse } from '../../../support/graphql.ts';
import { repeated } from '../../../support/schema/repeated.ts';
import { secondInstance } from '../../../support/second-instance.ts';

const LENGTHS = [20, 21, 120];
const CONTENT: readonly Scope[] = ['posts:read', 'posts:write', 'comments:write'];

describe('A rejection by size', () => {
  const app = useApp({
    settings: {
      MAX_RESPONSE_BYTES: '10000',
      MAX_ALIASES: '200',
      MAX_ROOT_FIELDS: '200',
      MAX_TOKENS: '10000',
    },
  });
  const reader = useAccount(app);
  const other = useAccount(app);
  let own: string;
  let theirs: string;

  beforeAll(async () => {
    const long = { title: 'Long', body: '"'.repeat(12_000) };
    [own = '', theirs = ''] = await seedPosts(app, [
      { ...long, authorId: reader.id, createdAt: new Date(2_000) },
      { ...long, authorId: other.id, createdAt: new Date(1_000) },
    ]);
  });

  const keyWith = async (scopes: readonly Scope[]) =>
    (await createApiKey(app.database, { userId: reader.id, name: 'sizes', scopes })).key;

  /** Expects the same errors however long the email address of the account is. */
  async function expectSame(account: Account, query: string, scopes: readonly Scope[]): Promise<void> {
    const key = await keyWith(scopes);
    const responses = new Set<string>();
    for (const length of LENGTHS) {
      const email = `${'e'.repeat(length - '@example.com'.length)}@example.com`;
      await app.prisma.user.update({ where: { id: account.id }, data: { email } });
      const { errors } = await app.gql(query, { key });
      expect(errors?.[0]?.extensions.code).toMatch(/^(COMPLEXITY_LIMIT|FORBIDDEN)$/);
      responses.add(JSON.stringify(errors));
    }
    expect([...responses].slice(1)).toEqual([]);
  }

  it.each<[string, () => string]>([
    ['a list', () => '{ users(limit: 1, offset: 1) { email posts(limit: 1) { body } } }'],
    ['nodes', () => `{ nodes(ids: ["${other.id}"]) { ... on User { email posts(limit: 1) { body } } } }`],
    ['an author', () => `{ post(id: "${theirs}") { author { email } body } }`],
  ])(
    'does not tell how long the e-mail address of another account is, through %s',
    async (_way, queryFor) => {
      await expectSame(other, queryFor(), [...CONTENT, 'users:read']);
    },
  );

  it.each<[string, () => string]>([
    ['a list', () => '{ posts(limit: 1) { author { email } body } }'],
    ['an author', () => `{ post(id: "${own}") { author { email } body } }`],
    ['a node', () => `{ node(id: "${own}") { ... on Post { author { email } body } } }`],
  ])(
    'does not tell a key without users:read how long its account’s own is, through %s',
    async (_way, queryFor) => {
      await expectSame(reader, queryFor(), CONTENT);
    },
  );

  it('has nothing to tell of an address where loaders read the rows: they leave it out', async () => {
    const rows: string[] = [];
    const database = watchedDatabase(
      app.database,
      () => undefined,
      (found) => void rows.push(JSON.stringify(found)),
    );
    const { fetch } = secondInstance(app, { database });
    // More than a hundred lists are left to the loaders.
    const lists = repeated(101, (i) => `p${i}: posts(limit: 0) { id }`);
    const query = `{ post(id: "${own}") { author { name email } } ${lists} }`;
    const response = await readResponse(
      await fetch('/graphql', graphqlPost(query, { key: await keyWith(CONTENT) })),
    );
    expect(response.errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    expect(rows.join()).toContain('Someone');
    expect(rows.join()).not.toContain('@example.com');
  });
});
