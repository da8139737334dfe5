import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { freshCookie, visitor } from '../../support/credentials/session.ts';
import {
  CREATE_ALONE,
  CREATE_POST,
  type KeyedRequest,
  postsNamed,
  send,
  storedFor,
} from '../../support/keyed.ts';

/** Sends a request twice and expects the second answer to be the first. Returns it. */
async function twice(app: TestApp, request: KeyedRequest) {
  const first = await send(app, request);
  expect(first.replayed).toBeNull();
  const second = await send(app, request);
  expect(second).toMatchObject({ status: first.status, text: first.text, replayed: 'true' });
  return first;
}

describe('The response to a mutation with an Idempotency-Key', () => {
  const app = useApp();

  it('is the first one to the byte, and the mutation runs once', async () => {
    const { key, id } = await app.account();
    const title = `to the byte ${id} – ünïcode \u2028 "quoted"`;
    const first = await twice(app, { query: CREATE_POST, variables: { title }, key, idempotencyKey: 'k' });
    expect(first.status).toBe(200);
    expect(JSON.parse(first.text).data.createPost.title).toBe(title);
    expect(await postsNamed(app, title)).toBe(1);
  });

  it('stays as it was whatever has become of the post', async () => {
    const { key, id } = await app.account();
    const request = { query: CREATE_POST, variables: { title: `gone ${id}` }, key, idempotencyKey: 'k' };
    const first = await send(app, request);
    const { createPost: post } = JSON.parse(first.text).data;
    const remove = { query: `mutation { deletePost(id: "${post.id}") }`, key, idempotencyKey: 'other' };
    expect((await twice(app, remove)).text).toBe('{"data":{"deletePost":true}}');
    expect(await send(app, request)).toMatchObject({ status: 200, text: first.text, replayed: 'true' });
    expect(await postsNamed(app, `gone ${id}`)).toBe(0);
  });

  it.each([
    ['bare and quoted', 'abc-1', '"abc-1"'],
    ['with escapes', 'a"b\\c', '"a\\"b\\\\c"'],
    ['with spaces around', 'spaced', '   spaced  '],
    ['as long as may be', 'x'.repeat(255), `"${'x'.repeat(255)}"`],
    ['with every printable character but a comma', '!#$%&()*+-./09:;<=>?@AZ[]^_`az{|}~ !', undefined],
    ['with commas, if it is quoted', '", a, b,"', '  ", a, b,"  '],
  ])('is found under the same key %s', async (_name, one, other = `"${one}"`) => {
    const { key, id } = await app.account();
    const request = { query: CREATE_POST, variables: { title: `spelled ${id}` }, key };
    const first = await send(app, { ...request, idempotencyKey: one });
    expect(first).toMatchObject({ status: 200, replayed: null });
    const second = await send(app, { ...request, idempotencyKey: other });
    expect(second).toMatchObject({ status: 200, text: first.text, replayed: 'true' });
    expect(await postsNamed(app, `spelled ${id}`)).toBe(1);
  });

  it('is of that key alone: case and inner spaces count', async () => {
    const { key, id } = await app.account();
    const request = { query: CREATE_POST, variables: { title: `distinct ${id}` }, key };
    for (const idempotencyKey of ['k', 'K', '" k"', 'k k', 'k  k'])
      expect(await send(app, { ...request, idempotencyKey })).toMatchObject({ status: 200, replayed: null });
    expect(await postsNamed(app, `distinct ${id}`)).toBe(5);
  });

  it('belongs to the account: another’s same key is another key', async () => {
    const [one, other] = [await app.account(), await app.account()];
    const request = { query: CREATE_POST, variables: { title: `shared ${one.id}` }, idempotencyKey: 'k' };
    const ofOne = await send(app, { ...request, key: one.key });
    const ofOther = await send(app, { ...request, key: other.key });
    expect([ofOne.replayed, ofOther.replayed]).toEqual([null, null]);
    expect(ofOther.text).toContain(other.email);
    expect(await postsNamed(app, `shared ${one.id}`)).toBe(2);
  });

  it.each([CREATE_POST, CREATE_ALONE])(
    'belongs to the account: its keys and sessions share it: %s',
    async (query) => {
      const person = await visitor(app);
      const another = await createApiKey(app.database, {
        userId: person.id,
        name: 'another',
        scopes: ['posts:read', 'posts:write', 'users:read'],
      });
      const request = { query, variables: { title: `own ${person.id}` }, idempotencyKey: 'k' };
      const first = await send(app, { ...request, key: person.key });
      expect(first.status).toBe(200);
      for (const credentials of [
        { key: another.key },
        { cookie: person.cookie },
        { cookie: await freshCookie(app, person.email) },
      ])
        expect(await send(app, { ...request, ...credentials })).toMatchObject({
          text: first.text,
          replayed: 'true',
        });
      expect(await postsNamed(app, `own ${person.id}`)).toBe(1);
    },
  );

  it('comes back when it is an error of the execution', async () => {
    const { key } = await app.account();
    const unknown = '00000000-0000-7000-8000-000000000000';
    for (const [query, code] of [
      ['mutation { createPost(title: " ", body: "b") { id } }', 'BAD_USER_INPUT'],
      [`mutation { updatePost(id: "${unknown}", title: "t") { id } }`, 'NOT_FOUND'],
      [`mutation { createComment(postId: "${unknown}", body: "b") { id } }`, 'NOT_FOUND'],
    ] as const) {
      const first = await twice(app, { query, key, idempotencyKey: query.replaceAll(',', ';') });
      expect(first).toMatchObject({ status: 200, codes: [code] });
    }
  });

  it('comes back when it is 403, and what came before the rejected field is undone', async () => {
    const [author, other] = [await app.account(), await app.account()];
    const id = await createPost(app, other.key);
    const title = `before the refusal ${author.id}`;
    const query = `mutation { createPost(title: "${title}", body: "b") { id } deletePost(id: "${id}") }`;
    const first = await twice(app, { query, key: author.key, idempotencyKey: 'k' });
    expect(first).toMatchObject({ status: 403, codes: ['FORBIDDEN'] });
    expect(JSON.parse(first.text).data).toBeNull();
    expect(await postsNamed(app, title)).toBe(0);
    expect(await storedFor(app, author.id)).toBe(1);
  });

  it('keeps the cost that the first request asked for', async () => {
    const { key, id } = await app.account();
    const request = { query: CREATE_POST, variables: { title: `cost ${id}` }, key, idempotencyKey: 'k' };
    const first = await send(app, { ...request, headers: { 'x-show-cost': '1' } });
    expect(JSON.parse(first.text).extensions.cost.depth).toBe(3);
    expect((await send(app, request)).text).toBe(first.text);
  });

  it('comes in the media type that the retry asks for, and as an event stream frame by frame', async () => {
    const { key, id } = await app.account();
    const title = `streamed ${id}`;
    const request = { query: CREATE_POST, variables: { title }, key, idempotencyKey: 'k' };
    const stream = { ...request, accept: 'text/event-stream' };
    const first = await twice(app, stream);
    expect(first.headers.get('content-type')).toContain('text/event-stream');
    const [, data = ''] = /^event: next\ndata: (.+)$/m.exec(first.text) ?? [];
    expect(JSON.parse(data).data.createPost.title).toBe(title);
    expect(first.text).toContain('event: complete');
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      const again = await send(app, { ...request, accept });
      expect(again).toMatchObject({ status: 200, text: data, replayed: 'true' });
      expect(again.headers.get('content-type')).toContain(accept);
    }
    expect(await postsNamed(app, title)).toBe(1);
  });
});
