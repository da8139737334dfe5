import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../../support/app.ts';
import { readResponse } from '../../../support/graphql.ts';
import { storedFor } from '../../../support/keyed.ts';
import { expectRejected } from '../../../support/rejection.ts';
import { type Told, WAYS, WRITING_WAYS } from '../../../support/ways.ts';

const app = useApp();
const account = useAccount(app);

const name = (length: number) => 'n'.repeat(length);

/** Where a document has a name. Those that the schema decides are too long to be in it. */
const PLACES: readonly (readonly [where: string, document: (name: string) => string, known: boolean])[] = [
  ['an alias', (n) => `{ ${n}: viewer { id } }`, true],
  ['an alias below', (n) => `{ viewer { posts(limit: 1) { ${n}: id } } }`, true],
  ['a field', (n) => `{ viewer { ${n} } }`, false],
  ['a root field', (n) => `{ ${n} { id } }`, false],
  ['a variable', (n) => `query ($${n}: Int = 1) { posts(limit: $${n}) { id } }`, true],
  ['a variable that is used alone', (n) => `{ posts(limit: $${n}) { id } }`, false],
  ['an operation', (n) => `query ${n} { viewer { id } }`, true],
  ['a fragment', (n) => `{ viewer { ...${n} } } fragment ${n} on User { id }`, true],
  ['a spread', (n) => `{ viewer { ...${n} } }`, false],
  ['a type condition', (n) => `{ viewer { ... on ${n} { id } } }`, false],
  ['an argument', (n) => `{ posts(${n}: 1) { id } }`, false],
  ['a directive', (n) => `{ viewer { id @${n} } }`, false],
  ['an enum value', (n) => `{ posts(limit: ${n}) { id } }`, false],
  ['a member of an input object', (n) => `{ posts(limit: {${n}: 1}) { id } }`, false],
  ['a name in what is skipped', (n) => `{ viewer { id ${n}: name @skip(if: true) } }`, true],
  ['a name in another operation', (n) => `query A { viewer { id } } query B { ${n}: viewer { id } }`, true],
];

function expectTooLong({ codes, data, errors }: Told, length: number): void {
  expect(codes).toEqual(['COMPLEXITY_LIMIT']);
  expect(data).toBeUndefined();
  expect(errors?.[0]?.extensions).toEqual({ code: 'COMPLEXITY_LIMIT', value: length, maximum: 100 });
  expect(errors?.[0]?.message).toContain(`${length}`);
  expect(errors?.[0]?.message).toContain('100');
  expect(errors?.[0]?.message.length).toBeLessThan(200);
}

describe.each(WAYS)('A name has at most 100 characters, by $name', (way) => {
  const ask = (query: string) =>
    way.ask(app, {
      key: account.key,
      query,
      ...(query.startsWith('query A') ? { operationName: 'A' } : {}),
    });

  it.each(PLACES)('%s', async (_where, document, known) => {
    const longest = await ask(document(name(100)));
    if (known) expect(longest.errors).toBeUndefined();
    else expect(longest.codes).not.toContain('COMPLEXITY_LIMIT');
    for (const length of [101, 1_000]) {
      const told = await ask(document(name(length)));
      expectTooLong(told, length);
      expect(told.status).toBe(way.limitStatus);
    }
  });

  it('but strings and comments are none', async () => {
    const { data, errors } = await ask(`{ posts(tag: "${name(50)}") { id } } # ${name(101)}`);
    expect(errors).toBeUndefined();
    expect(data.posts).toEqual([]);
    const { codes } = await ask(`{ post(id: """${name(101)} "${name(101)}""") { id } }`);
    expect(codes).toEqual([]);
  });
});

it('nor in a subscription, which does not open then', async () => {
  const query = encodeURIComponent(`subscription { ${name(101)}: postCreated { id } }`);
  const headers = { authorization: `Bearer ${account.key}`, accept: 'text/event-stream' };
  const response = await readResponse(await app.fetch(`/graphql?query=${query}`, { headers }));
  expectRejected(response, { code: 'COMPLEXITY_LIMIT' });
});

it('a text of nothing but a name is rejected at once, however long', async () => {
  const [way] = WAYS;
  if (way === undefined) throw new Error('there is no way');
  const query = `{ ${name(100_000)}: posts(limit: 100) { ${name(99_999)}: id } }`;
  expectTooLong(await way.ask(app, { key: account.key, query }), 100_000);
});

it.each(WRITING_WAYS)('a mutation with a longer one is not done, nor stored, by $name', async (way) => {
  const query = `mutation { ${name(101)}: createPost(title: "long name", body: "b") { id } }`;
  for (const headers of [{}, { 'idempotency-key': `long ${way.name}` }])
    expectTooLong(await way.ask(app, { key: account.key, query, headers }), 101);
  expect(await app.prisma.post.count({ where: { title: 'long name' } })).toBe(0);
  expect(await storedFor(app, account.id)).toBe(0);
});
