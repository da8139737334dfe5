import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { PASSWORD, visitor } from '../../support/credentials/session.ts';
import { CREATE_ALONE, CREATE_POST, type KeyedRequest, postsNamed, send } from '../../support/keyed.ts';
import { secondInstance } from '../../support/second-instance.ts';

const OLD = 'the-k3y-before-the-rotation-0000000000000';
const NEW = 'the-k3y-after-the-rotation-00000000000000';
const app = useApp({ settings: { SECRET_KEY: OLD } });

/** Starts an instance on the same database with other secrets. */
const startInstance = (secretKey: string, secretKeyPrevious?: string) =>
  secondInstance(app, { config: { ...app.config, secretKey, secretKeyPrevious } });

const WAYS = [
  ['one statement', CREATE_ALONE],
  ['a transaction', CREATE_POST],
] as const;

describe.each(WAYS)('a response that %s has stored, after SECRET_KEY has changed', (_way, query) => {
  async function storeResponse(title: string) {
    const { key, id } = await app.account();
    const request: KeyedRequest = {
      query,
      variables: { title: `${title} ${id}` },
      key,
      idempotencyKey: 'k',
    };
    const first = await send(app, request);
    expect(first).toMatchObject({ status: 200, replayed: null });
    return { request, first, countPosts: () => postsNamed(app, `${title} ${id}`) };
  }

  it('is replayed to the byte with SECRET_KEY_PREVIOUS', async () => {
    const { request, first, countPosts } = await storeResponse('rotated');
    const replay = await send(startInstance(NEW, OLD), request);
    expect(replay).toMatchObject({ status: 200, text: first.text, replayed: 'true' });
    expect(await countPosts()).toBe(1);
  });

  it('makes a retry 500 without SECRET_KEY_PREVIOUS, and the mutation is not executed again', async () => {
    const { request, first, countPosts } = await storeResponse('unreadable');
    for (const instance of [startInstance(NEW), startInstance(NEW, 'another-s3cret-of-32-bytes-000000000')]) {
      const rejected = await send(instance, request);
      expect(rejected).toMatchObject({ status: 500, codes: ['INTERNAL_SERVER_ERROR'], replayed: null });
      expect(rejected.text).not.toContain('SECRET_KEY');
    }
    expect(await countPosts()).toBe(1);
    expect(app.logged.join('')).toContain('set SECRET_KEY_PREVIOUS to its former value');
    // The response is still there for an instance that has the secret.
    expect(await send(app, request)).toMatchObject({ text: first.text, replayed: 'true' });
  });

  it('is replayed without the old secret, if an instance with the new secret has stored it', async () => {
    const { key, id } = await app.account();
    const title = `after ${id}`;
    const request: KeyedRequest = { query, variables: { title }, key, idempotencyKey: 'k' };
    const first = await send(startInstance(NEW, OLD), request);
    expect(first).toMatchObject({ status: 200, replayed: null });
    expect(await send(startInstance(NEW), request)).toMatchObject({ text: first.text, replayed: 'true' });
    // An instance without the new secret can neither read the response nor execute the mutation again.
    expect(await send(app, request)).toMatchObject({ status: 500, replayed: null });
    expect(await postsNamed(app, title)).toBe(1);
  });
});

it('a new API key is shown again to its session after a rotation', async () => {
  const { id, cookie } = await visitor(app);
  const query = `mutation { createApiKey(name: "k", scopes: ["posts:read"], currentPassword: "${PASSWORD}") { key } }`;
  const request: KeyedRequest = { query, cookie, idempotencyKey: 'k' };
  const first = await send(app, request);
  expect(first).toMatchObject({ status: 200, replayed: null });
  const replay = await send(startInstance(NEW, OLD), request);
  expect(replay).toMatchObject({ status: 200, text: first.text, replayed: 'true' });
  expect(await send(startInstance(NEW), request)).toMatchObject({ status: 500, replayed: null });
  expect(await app.prisma.apiKey.count({ where: { userId: id, name: 'k' } })).toBe(1);
});
