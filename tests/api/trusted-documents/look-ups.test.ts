import { describe, expect, it } from 'vitest';
import { FIND_DOCUMENTS } from '../../../src/engine/documents/trusted/document-store.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { watchedDatabase } from '../../support/database/watched.ts';
import { expectRejected } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { askMembers, freshId, NAMINGS, published, retire } from '../../support/trusted-documents.ts';

const app = useApp();

/** An instance, and the ids that it asks the database for, a statement at a time. */
function watchedInstance(settings: Partial<TestApp['config']> = {}) {
  const asked: (readonly string[])[] = [];
  const database = watchedDatabase(app.database, (statement, [ids]) => {
    if (statement === FIND_DOCUMENTS) asked.push(ids as string[]);
  });
  return { instance: secondInstance(app, { database, config: { ...app.config, ...settings } }), asked };
}

/**
 * Resolves once `ask` is answered three times without the database. An instance uses its cache only while it is notified of
 * retirements, and a busy machine can delay that.
 */
const untilCached = (ask: () => Promise<unknown>, asked: readonly unknown[]) =>
  expect
    .poll(async () => {
      const before = asked.length;
      for (let i = 0; i < 3; i += 1) await ask();
      return asked.length - before;
    })
    .toBe(0);

describe('looking up documents', () => {
  it.each(NAMINGS)('asks for no id that none can have, named by %s', async (naming, members) => {
    const { key } = await app.account();
    const { instance, asked } = watchedInstance();
    const refusal =
      naming === 'persistedQuery'
        ? { code: 'PERSISTED_QUERY_NOT_SUPPORTED' }
        : { code: 'DOCUMENT_NOT_FOUND', status: 404 };
    for (const id of ['', 'x'.repeat(129), 'x'.repeat(100_000), 'a\u0000b', 'a\nb', '\u007f', 'é', '\ud800'])
      expectRejected(await askMembers(instance, members(id), { key }), refusal);
    expect(asked).toEqual([]);
    expect((await askMembers(instance, members('x'.repeat(128)), { key })).errors).toHaveLength(1);
    expect(asked).toEqual([['x'.repeat(128)]]);
  });

  it('asks once for a document that is there, until it is retired', async () => {
    const { key } = await app.account();
    const id = await published(app, '{ viewer { id } }');
    const { instance, asked } = watchedInstance();
    const status = async () => (await askMembers(instance, { documentId: id }, { key })).status;
    await untilCached(async () => expect(await status()).toBe(200), asked);
    expect(await retire(app, id)).toBe(1);
    await expect.poll(status).toBe(404);
  });

  it('takes few statements for a flood of unknown ids', async () => {
    const { key } = await app.account();
    const { instance, asked } = watchedInstance();
    await askMembers(instance, { documentId: freshId() }, { key });
    asked.length = 0;
    const ids = Array.from({ length: 1_000 }, freshId);
    const responses = await Promise.all(
      ids.map((documentId) => askMembers(instance, { documentId }, { key })),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([404]));
    expect(asked.flat().sort()).toEqual(ids.sort());
    expect(asked.length).toBeLessThan(100);
  });

  it('takes few statements for one unknown id that many ask for', async () => {
    const { key } = await app.account();
    const { instance, asked } = watchedInstance();
    await askMembers(instance, { documentId: freshId() }, { key });
    asked.length = 0;
    const documentId = freshId();
    await Promise.all(Array.from({ length: 1_000 }, () => askMembers(instance, { documentId }, { key })));
    expect(asked.length).toBeLessThan(100);
    expect(asked.length).toBeGreaterThan(0);
  });

  it('asks for nothing of callers who may run nothing', async () => {
    const { instance, asked } = watchedInstance({ introspection: false });
    const id = await published(app, '{ viewer { id } }');
    for (const documentId of [id, freshId()])
      expect((await askMembers(instance, { documentId })).status).toBe(401);
    expect(asked).toEqual([]);
  });

  it('keeps nothing that it read before a retirement and got after it', async () => {
    const { key } = await app.account();
    const [late, other] = [
      await published(app, '{ viewer { id } }'),
      await published(app, '{ viewer { name } }'),
    ];
    const held = Promise.withResolvers<void>();
    const read = Promise.withResolvers<void>();
    const asked: unknown[] = [];
    const database = watchedDatabase(
      app.database,
      (statement, values) => {
        if (statement === FIND_DOCUMENTS) asked.push(values);
      },
      async (rows, statement) => {
        if (statement !== FIND_DOCUMENTS || !rows.some((row) => (row as { key: string }).key === late))
          return;
        read.resolve();
        await held.promise;
      },
    );
    const instance = secondInstance(app, { database });
    const status = async (documentId: string) => (await askMembers(instance, { documentId }, { key })).status;
    await untilCached(() => status(other), asked);
    const early = status(late);
    await read.promise;
    await retire(app, late, other);
    await expect.poll(() => status(other)).toBe(404);
    held.resolve();
    expect(await early).toBe(200);
    expect(await status(late)).toBe(404);
  });
});
