import { describe, expect, it } from 'vitest';
import { OPEN_INSTANT } from '../../../src/graphql/open-instant.ts';
import { unseal } from '../../../src/operation/idempotency/seal.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { CREATE_ALONE, CREATE_POST, postsNamed, send, storedFor, withForm } from '../../support/keyed.ts';
import { secondInstance } from '../../support/second-instance.ts';

const AT_ONCE = 16;

describe('Instances that store responses in different forms, on one database', () => {
  const app = useApp({ settings: { IDEMPOTENCY_STORED_FORM: '1' } });

  const inForm = (form: 1 | 2): Pick<TestApp, 'fetch'> =>
    form === 1 ? app : secondInstance(app, { config: withForm(app, 2) });

  it.each([
    [1, 2, CREATE_ALONE],
    [2, 1, CREATE_ALONE],
    [1, 2, CREATE_POST],
    [2, 1, CREATE_POST],
  ] as const)('replay what form %i has stored at form %i, to the byte: %s', async (one, other, query) => {
    const { key, id } = await app.account();
    const title = `\u0001 stored ${id} "\\u0001"`;
    const request = { query, variables: { title }, key, idempotencyKey: 'k' };
    const [first, second] = [inForm(one), inForm(other)];
    const answer = await send(first, request);
    expect(answer).toMatchObject({ status: 200, replayed: null });
    for (const instance of [second, first, second])
      expect(await send(instance, request)).toMatchObject({ text: answer.text, replayed: 'true' });
    expect(await send(second, { ...request, variables: { title: 'other' } })).toMatchObject({ status: 422 });
    expect(await postsNamed(app, title)).toBe(1);
    const [row] = await app.prisma.idempotencyKey.findMany({ where: { userId: id } });
    const body = unseal({ userId: id, key: 'k' }, Buffer.from(row?.body ?? []));
    // Only what the instance in form 2 stores for a single statement has the open place.
    expect(body.includes(OPEN_INSTANT)).toBe(one === 2 && query === CREATE_ALONE);
    if (!body.includes(OPEN_INSTANT)) expect(body).toBe(answer.text);
    const { createdAt, id: postId } = JSON.parse(answer.text).data.createPost;
    const { data } = await app.gql(`{ post(id: "${postId}") { createdAt title } }`, { key });
    expect(data.post).toEqual({ createdAt, title });
  });

  it('do a mutation once whichever gets it, and however many at once', async () => {
    const { key, id } = await app.account();
    const instances = [inForm(1), inForm(2)];
    const keys = 20;
    for (let turn = 0; turn < keys; turn += 1) {
      const title = `turn ${turn} ${id}`;
      const request = { query: CREATE_ALONE, variables: { title }, key, idempotencyKey: title };
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) => send(instances[(index + turn) % 2] ?? app, request)),
      );
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(answers[0]?.status).toBe(200);
      expect(answers.filter(({ replayed }) => replayed === null)).toHaveLength(1);
    }
    const { prisma } = app;
    const posts = await prisma.post.findMany({ where: { authorId: id }, select: { id: true } });
    expect(posts).toHaveLength(keys);
    expect(await prisma.event.count({ where: { postId: { in: posts.map((post) => post.id) } } })).toBe(keys);
    expect(await storedFor(app, id)).toBe(keys);
  });
});
