import { describe, expect, it } from 'vitest';
import { statement } from '../../../../src/database/statement.ts';
import { useAccount, useApp } from '../../../support/app.ts';
import { dataOf } from '../../../support/rejection.ts';

const PREPARED = statement<{ name: string; text: string }>(
  'list_prepared',
  'SELECT name, statement AS text FROM pg_prepared_statements',
);

describe('What a backend of PostgreSQL keeps prepared', () => {
  // One connection, which its own view of what it has prepared is asked on.
  const app = useApp({ settings: { DATABASE_POOL_SIZE: '1' } });
  const account = useAccount(app, { name: 'Same' });

  const prepared = async () => app.database.query(PREPARED, []);
  const named = async (prefix: string) => (await prepared()).filter(({ name }) => name.startsWith(prefix));
  /** Those that write a response with a name which begins so. */
  const writing = async (name: string) => (await prepared()).filter(({ text }) => text.includes(`"${name}`));
  const ask = async (query: string) => dataOf(await app.gql(query, { key: account.key }));
  const one = (alias: string) => `{ ${alias}: user(id: "${account.id}") { name } }`;

  it('is nothing of queries that each come once', async () => {
    for (let n = 0; n < 200; n += 1) expect(await ask(one(`once${n}`))).toHaveProperty(`once${n}`);
    expect(await writing('once')).toEqual([]);
  });

  it('is what comes again, from its second time on', async () => {
    await ask(one('again'));
    expect(await writing('again')).toHaveLength(0);
    for (let n = 0; n < 3; n += 1) expect(await ask(one('again'))).toEqual({ again: { name: 'Same' } });
    expect(await writing('again')).toHaveLength(1);
  });

  it('stays under a bound by the size of the texts, however many come again', async () => {
    const wide = (n: number) => {
      const fields = Array.from({ length: 25 }, (_, i) => `f${i}: author { posts(limit: 1) { id } }`);
      return `{ wide${n}: posts(limit: 1) { ${fields.join(' ')} } }`;
    };
    for (let n = 0; n < 150; n += 1) {
      await ask(wide(n));
      await ask(wide(n));
    }
    const kept = await prepared();
    expect(kept.some(({ text }) => text.includes('"wide'))).toBe(true);
    expect(kept.reduce((total, { text }) => total + text.length, 0)).toBeLessThanOrEqual(100_000);
    // What was let go of is as good as ever.
    expect(await ask(one('again'))).toEqual({ again: { name: 'Same' } });
  });

  it('is nothing so large that it would drive all else out', async () => {
    const fields = Array.from(
      { length: 24 },
      (_, i) => `f${i}: author { posts(limit: 1) { author { posts(limit: 1) { id } } } }`,
    );
    const large = `{ large: posts(limit: 1) { ${fields.join(' ')} } }`;
    for (let n = 0; n < 3; n += 1) await ask(large);
    expect(await writing('large')).toEqual([]);
  });

  it('counts what was prepared and then failed', async () => {
    for (let n = 0; n < 2_000; n += 1) {
      const failing = statement<unknown>('failing', `SELECT 1 / $1::int AS "n${n}"`);
      for (let time = 0; time < 2; time += 1)
        await expect(app.database.query(failing, [0])).rejects.toMatchObject({ cause: { code: '22012' } });
    }
    const { length } = await named('failing');
    expect(length).toBeGreaterThan(0);
    expect(length).toBeLessThanOrEqual(1_400);
  });
});
