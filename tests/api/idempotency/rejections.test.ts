import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { CREATE_POST, postsNamed, send, sendUntilResponse, storedFor } from '../../support/keyed.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

describe('An Idempotency-Key under which nothing was executed', () => {
  const time = { ms: Date.now() };
  const app = useApp({
    clock: clockOf(() => time.ms),
    settings: { RATE_LIMIT_BURST: '1', RATE_LIMIT_PER_SECOND: '1' },
  });
  const refill = () => {
    time.ms += 2_000;
  };

  it.each([
    ['credentials', 401, {}, { key: 'cga_wrong' }],
    ['the syntax', 400, { query: 'mutation {' }, {}],
    ['validation', 400, { query: 'mutation { nothing }' }, {}],
    ['a limit', 400, { query: `mutation { ${'x: __typename '.repeat(5_000)} }` }, {}],
    ['the number of aliases', 400, { query: `mutation { ${aliases(31)} }` }, {}],
    ['a variable that does not fit', 400, { variables: { title: 7 } }, {}],
    ['a variable that is missing', 400, { variables: {} }, {}],
    ['the operation’s name', 400, { operationName: 'Other' }, {}],
  ])('is free after a rejection because of %s', async (_what, status, wrong, credentials) => {
    const { key, id } = await app.account();
    const title = `after a refusal ${id}`;
    const accept = 'application/graphql-response+json';
    const request = { query: CREATE_POST, variables: { title }, key, idempotencyKey: 'k', accept };
    refill();
    const rejected = await send(app, { ...request, ...wrong, ...credentials });
    expect(rejected).toMatchObject({ status, replayed: null });
    expect(await storedFor(app, id)).toBe(0);
    refill();
    expect(await send(app, request)).toMatchObject({ status: 200, replayed: null });
    expect(await postsNamed(app, title)).toBe(1);
  });

  it('is free after 429, which counts replays too', async () => {
    const { key, id } = await app.account();
    const request = { query: CREATE_POST, variables: { title: `limited ${id}` }, key, idempotencyKey: 'k' };
    refill();
    await send(app, { query: '{ __typename }', key });
    expect(await send(app, request)).toMatchObject({ status: 429, codes: ['RATE_LIMITED'], replayed: null });
    expect(await storedFor(app, id)).toBe(0);
    refill();
    const first = await send(app, request);
    expect(first).toMatchObject({ status: 200, replayed: null });
    expect(await send(app, request)).toMatchObject({ status: 429, replayed: null });
    refill();
    expect(await send(app, request)).toMatchObject({ status: 200, text: first.text, replayed: 'true' });
  });
});

function aliases(count: number): string {
  return Array.from({ length: count }, (_, index) => `a${index}: __typename`).join(' ');
}

describe('A failure of the service under an Idempotency-Key', () => {
  const app = useApp();

  it('undoes the whole mutation and is not stored, so that the retry does it all', async () => {
    const { key, id } = await app.account();
    const postId = await createPost(app, key);
    const title = `rolled back ${id}`;
    const query = `mutation { createPost(title: "${title}", body: "b") { id } createComment(postId: "${postId}", body: "broken ${id}") { id } }`;
    const request = { query, key, idempotencyKey: 'k' };
    const { prisma } = app;
    await prisma.$executeRawUnsafe(
      `ALTER TABLE comments ADD CONSTRAINT broken_for_a_test CHECK (body <> 'broken ${id}')`,
    );
    for (let turn = 0; turn < 2; turn += 1) {
      const failed = await send(app, request);
      expect(failed).toMatchObject({ status: 500, codes: ['INTERNAL_SERVER_ERROR'], replayed: null });
      expect(JSON.parse(failed.text)).not.toHaveProperty('data');
    }
    expect(await postsNamed(app, title)).toBe(0);
    expect(await storedFor(app, id)).toBe(0);
    await prisma.$executeRawUnsafe('ALTER TABLE comments DROP CONSTRAINT broken_for_a_test');
    const done = await send(app, request);
    expect(done).toMatchObject({ status: 200, replayed: null });
    expect(await send(app, request)).toMatchObject({ text: done.text, replayed: 'true' });
    expect(await postsNamed(app, title)).toBe(1);
  });

  it('is never given to those who wait for the first: each of them tries anew', async () => {
    const { key, id } = await app.account();
    const title = `failing together ${id}`;
    const request = { query: CREATE_POST, variables: { title }, key, idempotencyKey: 'k' };
    const { prisma } = app;
    // Checked at COMMIT: everything is executed and the response is at hand when the transaction fails.
    await prisma.$executeRawUnsafe(
      `CREATE FUNCTION refuse_for_a_test() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END'`,
    );
    await prisma.$executeRawUnsafe(
      `CREATE CONSTRAINT TRIGGER refused_at_commit AFTER INSERT ON posts DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION refuse_for_a_test()`,
    );
    const failed = await Promise.all(Array.from({ length: 8 }, () => sendUntilResponse(app, request)));
    await prisma.$executeRawUnsafe('DROP TRIGGER refused_at_commit ON posts');
    expect(failed.map(({ status, replayed }) => [status, replayed])).toEqual(Array(8).fill([500, null]));
    expect(await postsNamed(app, title)).toBe(0);
    expect(await storedFor(app, id)).toBe(0);
    const responses = await Promise.all(Array.from({ length: 8 }, () => sendUntilResponse(app, request)));
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(responses.filter(({ replayed }) => replayed === null)).toHaveLength(1);
    expect(await postsNamed(app, title)).toBe(1);
  });
});
