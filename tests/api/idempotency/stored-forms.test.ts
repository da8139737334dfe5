import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { secretKeyOf } from '../../../src/database/embedded/data-dir.ts';
import { TIMESTAMP_PLACEHOLDER } from '../../../src/engine/core/single-statement.ts';
import {
  createResponseEncryption,
  hashKey,
} from '../../../src/engine/mutations/idempotency/response-store.ts';
import { useApp } from '../../support/app.ts';
import {
  CREATE_ALONE,
  CREATE_POST,
  postsNamed,
  send,
  sendUntilResponse,
  storedFor,
  WAYS,
} from '../../support/keyed.ts';
import { secondInstance } from '../../support/second-instance.ts';

const AT_ONCE = 16;

/** What a release that stored every response whole wrote for this account, key and title. */
const WHOLE = {
  userId: '01a1fc10-e42a-75fd-955d-85b049da6df5',
  key: 'order-42',
  title: 'stored \u0001 "by an older release"',
  fingerprint: 'a0c74889e8347d3106944a2db7ad61ee4bd3e269c9a09791f932eebf5e32bb9f',
  body: '1pgwfaWA461teLh59ZFUcGviXnGGFctT01M7jgjBy3RWJs4YoGSwn/MgTTYr0h6lxGttYwvhD+hKaeAG0Fxuqheu2M198PnHCydj6cRc+wh+9qjdg7LFW/mMzPnMu+ZjcnG5fcDbqRJxKFgI+VaW6THMJA1uPtpBRn1q/rYyA3PDmhboaQunAek3qVNU56e7vJ/0OAPxR34Oc5KGiUznAL4MDffi2ARj0bVQXDBZr/pDvYA0B+BZcQ==',
  text: String.raw`{"data":{"createPost":{"id":"01a211fe-5ac1-7271-a864-fffa5da2ddb4","title":"stored \u0001 \"by an older release\"","createdAt":"2026-11-25T09:16:51.772Z"}}}`,
};

describe('A stored response', () => {
  const app = useApp();

  it('by an older release is replayed to the byte', async () => {
    const { userId, key: name, title, text } = WHOLE;
    await app.prisma.user.create({ data: { id: userId, name: 'Writer', email: 'older@example.com' } });
    const data = {
      userId,
      keyHash: new Uint8Array(hashKey({ userId, key: name })),
      fingerprint: new Uint8Array(Buffer.from(WHOLE.fingerprint, 'hex')),
      status: 200,
      body: new Uint8Array(Buffer.from(WHOLE.body, 'base64')),
      scopes: [],
    };
    await app.prisma.idempotencyKey.create({ data });
    const { key } = await createApiKey(app.database, { userId, name: 'k', scopes: ['posts:write'] });
    const request = { query: CREATE_ALONE, variables: { title }, key, idempotencyKey: name };
    for (const [, headers] of WAYS)
      expect(await send(app, { ...request, headers })).toMatchObject({ status: 200, text, replayed: 'true' });
    expect(await send(app, { ...request, variables: { title: 'other' } })).toMatchObject({ status: 422 });
    expect(await postsNamed(app, title)).toBe(0);
  });

  it.each([
    ['with a timestamp placeholder by one statement', CREATE_ALONE, true],
    ['whole by a transaction', CREATE_POST, false],
  ] as const)('is written %s, and replayed to the byte at any instance', async (_what, query, open) => {
    const { key, id } = await app.account();
    const title = `\u0001 stored ${id} "\\u0001"`;
    const request = { query, variables: { title }, key, idempotencyKey: 'k' };
    const response = await send(app, request);
    expect(response).toMatchObject({ status: 200, replayed: null });
    for (const instance of [secondInstance(app), app])
      expect(await send(instance, request)).toMatchObject({ text: response.text, replayed: 'true' });
    expect(await postsNamed(app, title)).toBe(1);
    const [row] = await app.prisma.idempotencyKey.findMany({ where: { userId: id } });
    const { decryptResponse } = createResponseEncryption(secretKeyOf(app.config), undefined);
    const body = decryptResponse({ userId: id, key: 'k' }, Buffer.from(row?.body ?? []));
    expect(body.includes(TIMESTAMP_PLACEHOLDER)).toBe(open);
    if (!open) expect(body).toBe(response.text);
    const { createdAt, id: postId } = JSON.parse(response.text).data.createPost;
    const { data } = await app.gql(`{ post(id: "${postId}") { createdAt title } }`, { key });
    expect(data.post).toEqual({ createdAt, title });
  });
});

describe('Two instances on one database, by one statement and in transactions', () => {
  const app = useApp();

  it('do a mutation once whichever gets it, and however many at once', async () => {
    const { key, id } = await app.account();
    const instances = [app, secondInstance(app)];
    const keys = 20;
    for (let turn = 0; turn < keys; turn += 1) {
      const title = `turn ${turn} ${id}`;
      const request = { query: CREATE_ALONE, variables: { title }, key, idempotencyKey: title };
      const responses = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) => {
          const place = (index + turn) % 2;
          return sendUntilResponse(instances[place] ?? app, { ...request, headers: WAYS[place]?.[1] ?? {} });
        }),
      );
      expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(responses[0]?.status).toBe(200);
      expect(responses.filter(({ replayed }) => replayed === null)).toHaveLength(1);
    }
    const { prisma } = app;
    const posts = await prisma.post.findMany({ where: { authorId: id }, select: { id: true } });
    expect(posts).toHaveLength(keys);
    expect(await prisma.event.count({ where: { rootId: { in: posts.map((post) => post.id) } } })).toBe(keys);
    expect(await storedFor(app, id)).toBe(keys);
  });
});
