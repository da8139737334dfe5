import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import type { Scope } from '../../../src/auth/scopes.ts';
import { statement } from '../../../src/database/statement.ts';
import { agree, withKnown } from '../../model/agree.ts';
import { executed, mayBeStored, operationIn } from '../../model/execution.ts';
import { contentField, type Known, textOf } from '../../model/mutations.ts';
import { type Caller, lacksAccess } from '../../model/permissions.ts';
import { isRejection, matchesExecuted } from '../../model/responses.ts';
import { type State, stateOf } from '../../model/state.ts';
import { readSnapshot } from '../../model/tables.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { past, seedComments, seedPosts } from '../../support/content.ts';
import { send, storedFor } from '../../support/keyed.ts';

/** How many operations are tried. */
const RUNS = Number(process.env.ALL_OR_NOTHING_RUNS ?? 60);

const KEYS: readonly (readonly Scope[])[] = [
  ['posts:read', 'posts:write', 'comments:write', 'drafts:read', 'drafts:write', 'users:read'],
  ['posts:read', 'posts:write', 'comments:write', 'drafts:read', 'drafts:write', 'users:read'],
  ['posts:write', 'comments:write'],
  ['posts:read', 'comments:write'],
  ['posts:read'],
];

/** Root fields of an operation, most of which are right, and how each stands in it. */
const fields = fc.array(
  fc.record({
    field: contentField,
    stands: fc.constantFrom('plain', 'plain', 'in a fragment', 'skipped', 'included'),
  }),
  { minLength: 1, maxLength: 5 },
);
type Fields = typeof fields extends fc.Arbitrary<infer T> ? T : never;

/** The document, with the variable `$no` that is false. */
function documentOf(all: Fields, known: Known): string {
  const fragments: string[] = [];
  const selections = all.map(({ field, stands }, index) => {
    const written = `f${index}: ${textOf(field, known)}`;
    if (stands === 'in a fragment') {
      fragments.push(`fragment F${index} on Mutation { ${written} }`);
      return `...F${index}`;
    }
    if (stands === 'skipped') return `... on Mutation @include(if: $no) { ${written} }`;
    return stands === 'included' ? `... @skip(if: $no) { ${written} }` : written;
  });
  return `mutation ($no: Boolean! = false) { ${selections.join(' ')} last: __typename @include(if: $no) } ${fragments.join(' ')}`;
}

const DRAFTS = 'viewer { drafts(limit: 100) { id title body tags slug version } }';
const SHOWN = 'title tags commentCount author { id name } comments { id body author { id } }';

/** All that there is, post by post. */
const readingOf = ({ posts }: State): string =>
  `{ __typename ${DRAFTS} ${posts.map(({ id }, index) => `p${index}: post(id: "${id}") { ${SHOWN} }`).join(' ')} }`;

describe('A mutation', () => {
  const app = useApp();
  const me = useAccount(app);
  const other = useAccount(app);
  const keys: string[] = [];
  beforeAll(async () => {
    for (const scopes of KEYS)
      keys.push((await createApiKey(app.database, { userId: me.id, name: 'k', scopes })).key);
  });

  const tables = () =>
    readSnapshot((text, values) => app.database.query(statement('test_tables', text), values));

  /** The tables hold just what the state says, and reading answers with it. */
  async function expectState(state: State, caller: Caller): Promise<void> {
    const agreed = agree(state, await tables());
    if ('differs' in agreed) return expect.fail(agreed.differs);
    const query = readingOf(agreed.state);
    const expected = executed({ ...operationIn(query, {}), caller, state: agreed.state });
    const response = await send(app, { query, key: keys[0] ?? '' });
    expect(
      matchesExecuted(expected, response),
      `${response.text} and not ${JSON.stringify(expected)}`,
    ).toBeDefined();
  }

  /** A post of mine and one of somebody else's, with comments of both, and nothing else. */
  async function reset(): Promise<State> {
    await app.prisma.event.deleteMany();
    await app.prisma.post.deleteMany();
    await app.prisma.draft.deleteMany();
    const [theirs = '', mine = ''] = await seedPosts(app, [
      { authorId: other.id, title: 'theirs', tags: [] },
      { authorId: me.id, title: 'mine', tags: ['a', 'b'] },
    ]);
    await seedComments(app, [
      { postId: theirs, authorId: other.id, body: 'not mine' },
      { postId: theirs, authorId: me.id, body: 'my own' },
      { postId: mine, authorId: other.id, body: 'on mine' },
    ]);
    const draft = { title: 'T', body: 'b', tags: [] };
    await app.prisma.draft.createMany({
      data: [
        { ...draft, authorId: other.id, updatedAt: past() },
        { ...draft, authorId: me.id, updatedAt: past(1) },
      ],
    });
    return stateOf(await tables());
  }

  it('has done each of its fields where it has data, and nothing at all where its data is null', async () => {
    let runs = 0;
    const seen = { done: 0, undone: 0 };
    await fc.assert(
      fc.asyncProperty(fields, fc.nat({ max: KEYS.length - 1 }), fc.boolean(), async (all, which, keyed) => {
        runs += 1;
        const before = await reset();
        const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
        const named = {
          posts: ids(before.posts),
          comments: ids(before.comments),
          drafts: ids(before.drafts),
        };
        const known = { ...named, keys: [], sessions: [], password: '', handle: '' };
        const asked = operationIn(documentOf(all, known), {});
        const scopes = new Set(KEYS[which]);
        const caller: Caller = { userId: me.id, role: 'member', scopes, sessionId: undefined };
        const reader = { ...caller, scopes: new Set(KEYS[0]) };
        const expected = executed({ ...asked, caller, state: before });
        const request = {
          query: documentOf(all, known),
          key: keys[which] ?? '',
          ...(keyed ? { idempotencyKey: `run ${runs}` } : {}),
        };
        const storedBefore = await storedFor(app, me.id);
        const response = await send(app, request);
        seen[expected.data === null ? 'undone' : 'done'] += 1;
        // Who lacks a scope for any of its fields, or for the row of another that one shows, does not use up the key.
        const mayRun = !keyed || !lacksAccess({ caller }, asked);
        const made = mayRun
          ? matchesExecuted(expected, response)
          : isRejection(response, 403, 'FORBIDDEN') && new Map<string, string>();
        expect(
          made,
          `${response.status} ${response.text} and not ${JSON.stringify(expected)}`,
        ).toBeInstanceOf(Map);
        const after = withKnown(expected.state, made || new Map());
        await expectState(after, reader);
        const isStored = keyed && mayRun && mayBeStored(expected.errors);
        expect((await storedFor(app, me.id)) - storedBefore).toBe(isStored ? 1 : 0);
        if (!keyed) return;
        const again = await send(app, request);
        if (mayRun)
          expect(again).toMatchObject({
            status: response.status,
            text: response.text,
            replayed: isStored ? 'true' : null,
          });
        else expect(again).toMatchObject({ status: 403, codes: ['FORBIDDEN'], replayed: null });
        await expectState(after, reader);
      }),
      { numRuns: RUNS },
    );
    // How many of each there are is up to chance.
    expect(Math.min(seen.done, seen.undone)).toBeGreaterThan(0);
  });
});
