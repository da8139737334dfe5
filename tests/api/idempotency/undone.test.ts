import { describe, expect, it } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import { newId } from '../../../src/platform/ids.ts';
import { useApp } from '../../support/app.ts';
import { type KeyedRequest, postsNamed, send, storedFor } from '../../support/keyed.ts';
import { secondInstance } from '../../support/second-instance.ts';

describe('A keyed mutation without data, rolled back and not stored yet', () => {
  const app = useApp();

  /** An instance to which something happens at that moment, the first time. */
  function instanceWith(happens: () => Promise<void>) {
    let pending: (() => Promise<void>) | undefined = happens;
    const database: Database = {
      ...app.database,
      owned(owner) {
        const inner = app.database.owned(owner);
        return {
          async query(statement, values) {
            if (statement.name.startsWith('idempotency_store_alone')) {
              const now = pending;
              pending = undefined;
              await now?.();
            }
            return inner.query(statement, values);
          },
        };
      },
      // A mutation that takes long keeps its key over a connection of its own. Without one, others come in between.
      dedicatedClient: (options) =>
        options?.limited === true
          ? Promise.reject(new Error('no connection is left'))
          : app.database.dedicatedClient(options),
    };
    return secondInstance(app, { database });
  }

  /** NOT_FOUND until there is such a post; a post of its own besides. */
  const request = (account: { key: string; id: string }, postId: string): KeyedRequest => ({
    query: `mutation { createPost(title: "before ${account.id}", body: "b") { id } createComment(postId: "${postId}", body: "b") { id } }`,
    key: account.key,
    idempotencyKey: 'k',
  });

  it('gives way to another instance that has done it meanwhile: both get that answer', async () => {
    const account = await app.account();
    const postId = newId();
    let others: Awaited<ReturnType<typeof send>> | undefined;
    const late = instanceWith(async () => {
      await app.prisma.post.create({
        data: { id: postId, title: 't', body: 'b', authorId: account.id },
      });
      others = await send(app, request(account, postId));
      expect(others).toMatchObject({ status: 200, codes: [], replayed: null });
    });
    const response = await send(late, request(account, postId));
    expect(response).toMatchObject({ status: 200, text: others?.text, replayed: 'true' });
    expect(await postsNamed(app, `before ${account.id}`)).toBe(1);
    expect(await storedFor(app, account.id)).toBe(1);
  });

  it('gives way to another instance that has stored the same rejection', async () => {
    const account = await app.account();
    const postId = newId();
    const late = instanceWith(async () => void (await send(app, request(account, postId))));
    const response = await send(late, request(account, postId));
    expect(response).toMatchObject({ status: 200, codes: ['NOT_FOUND'], replayed: 'true' });
    expect(await postsNamed(app, `before ${account.id}`)).toBe(0);
    expect(await storedFor(app, account.id)).toBe(1);
  });

  it('is as if it had never run where it cannot be stored: the retry runs it', async () => {
    const account = await app.account();
    const postId = newId();
    const failing = instanceWith(() => Promise.reject(new Error('storing fails')));
    expect(await send(failing, request(account, postId))).toMatchObject({ status: 500, replayed: null });
    expect(await storedFor(app, account.id)).toBe(0);
    const again = await send(failing, request(account, postId));
    expect(again).toMatchObject({ status: 200, codes: ['NOT_FOUND'], replayed: null });
    expect(await send(app, request(account, postId))).toMatchObject({ text: again.text, replayed: 'true' });
    expect(await postsNamed(app, `before ${account.id}`)).toBe(0);
  });
});
