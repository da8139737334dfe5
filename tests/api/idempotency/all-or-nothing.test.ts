import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/auth/api-key/store.ts';
import type { Scope } from '../../../src/auth/scopes.ts';
import { type Account, useApp } from '../../support/app.ts';
import { seedComments, seedPosts } from '../../support/content.ts';
import { send, storedFor } from '../../support/keyed.ts';
import {
  documentOf,
  holdsScopes,
  type Ids,
  type ModelState,
  mutationFields,
  outcomeOf,
  START,
} from '../../support/mutation-model.ts';

const KEYS: readonly (readonly Scope[])[] = [
  ['posts:read', 'posts:write', 'comments:write', 'users:read'],
  ['posts:read', 'posts:write', 'comments:write', 'users:read'],
  ['posts:write', 'comments:write'],
  ['posts:read', 'comments:write'],
  ['posts:read'],
];

describe('A mutation', () => {
  const app = useApp();
  let me: Account;
  let other: Account;
  const keys: string[] = [];
  beforeAll(async () => {
    me = await app.account();
    other = await app.account();
    for (const scopes of KEYS)
      keys.push((await createApiKey(app.database, { userId: me.id, name: 'k', scopes })).key);
  });

  async function reset(): Promise<Ids> {
    const { prisma } = app;
    await prisma.event.deleteMany();
    await prisma.post.deleteMany();
    const ids: Record<string, string> = {};
    for (const post of START.posts.values()) {
      const authorId = post.mine ? me.id : other.id;
      const [postId = ''] = await seedPosts(app, [{ authorId, title: post.title, tags: post.tags }]);
      ids[post.title] = postId;
      const comments = post.comments.map(({ body, mine }) => ({
        postId,
        authorId: mine ? me.id : other.id,
        body,
      }));
      (await seedComments(app, comments)).forEach((id, index) => {
        ids[comments[index]?.body ?? ''] = id;
      });
    }
    return ids;
  }

  /** What the tables hold, in a form that the model can be brought to as well. */
  async function tables() {
    const { prisma } = app;
    const posts = await prisma.post.findMany({
      include: { tags: { orderBy: { position: 'asc' } }, comments: { orderBy: { body: 'asc' } } },
      orderBy: { title: 'asc' },
    });
    return {
      posts: posts.map(({ title, authorId, commentCount, tags, comments }) => ({
        title,
        mine: authorId === me.id,
        commentCount,
        tags: tags.map(({ name }) => name),
        comments: comments.map((comment) => ({ body: comment.body, mine: comment.authorId === me.id })),
      })),
      events: await prisma.event.count(),
    };
  }

  function expected({ posts, events }: ModelState): Awaited<ReturnType<typeof tables>> {
    const by =
      <T>(key: (item: T) => string) =>
      (a: T, b: T) =>
        key(a) < key(b) ? -1 : 1;
    return {
      posts: [...posts.values()]
        .map(({ title, mine, tags, comments }) => ({
          title,
          mine,
          commentCount: comments.length,
          tags: [...tags],
          comments: [...comments].sort(by(({ body }) => body)),
        }))
        .sort(by(({ title }) => title)),
      events,
    };
  }

  it('has done each of its fields where it has data, and nothing at all where its data is null', async () => {
    let runs = 0;
    const seen = { done: 0, undone: 0 };
    await fc.assert(
      fc.asyncProperty(
        mutationFields,
        fc.nat({ max: KEYS.length - 1 }),
        fc.boolean(),
        async (fields, which, keyed) => {
          runs += 1;
          const ids = await reset();
          const storedBefore = await storedFor(app, me.id);
          const outcome = outcomeOf(fields, KEYS[which] ?? []);
          const request = {
            query: documentOf(fields, ids),
            key: keys[which] ?? '',
            ...(keyed ? { idempotencyKey: `run ${runs}` } : {}),
          };
          const answer = await send(app, request);
          const { data = null } = JSON.parse(answer.text) as { data?: unknown };
          expect(answer.status).toBe(
            outcome === undefined && answer.codes.every((code) => code === 'FORBIDDEN') ? 403 : 200,
          );
          expect(data === null).toBe(outcome === undefined);
          seen[data === null ? 'undone' : 'done'] += 1;
          expect(await tables()).toEqual(expected(outcome ?? START));
          // Who lacks a scope for any of its fields, or for the row of another that one shows, does not use up the key.
          const mayRun = holdsScopes(fields, KEYS[which] ?? []);
          const isStored = mayRun && !answer.text.includes('requires the scope');
          expect((await storedFor(app, me.id)) - storedBefore).toBe(keyed && isStored ? 1 : 0);
          if (!keyed) return;
          const again = await send(app, request);
          if (mayRun)
            expect(again).toMatchObject({
              status: answer.status,
              text: answer.text,
              replayed: isStored ? 'true' : null,
            });
          else expect(again).toMatchObject({ status: 403, codes: ['FORBIDDEN'], replayed: null });
          expect(await tables()).toEqual(expected(outcome ?? START));
        },
      ),
      { numRuns: 60 },
    );
    // How many of each there are is up to chance.
    expect(Math.min(seen.done, seen.undone)).toBeGreaterThan(0);
  });
});
