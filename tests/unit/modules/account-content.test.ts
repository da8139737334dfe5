import { expect, it, onTestFinished, vi } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import type { Parameter, Query, Statement } from '../../../src/database/statement.ts';
import { ACCOUNT_CONTENT } from '../../../src/schema/account-content.ts';

const ROWS = 5_000;
const KINDS = ['comments', 'posts'] as const;

/** A database in which an account has rows of one kind, and the times at which it deletes them. */
function databaseOf(kind: (typeof KINDS)[number]) {
  const left = new Set(Array.from({ length: ROWS }, (_, index) => String(index)));
  const deletedAtMs: number[] = [];
  const query = async ({ name }: Statement<unknown>, [first, second]: readonly Parameter[]) => {
    if (name.startsWith(`account_own_${kind}`)) {
      const rows = [...left].slice(0, Number(second));
      return rows.map((id) => ({ id, postId: id }));
    }
    if (!name.startsWith(`account_drop_${kind}`)) return [];
    const gone = (first as readonly string[]).filter((id) => left.delete(id));
    deletedAtMs.push(...gone.map(() => performance.now()));
    return gone.map(() => ({ comments: 0 }));
  };
  const queryInOrder = (...queries: readonly Query<unknown>[]) =>
    Promise.all(queries.map(({ statement, values }) => query(statement, values)));
  const unitOfWork = () => ({
    run: (write: (work: object) => Promise<unknown>) => write({ query, queryInOrder }),
  });
  return { database: { unitOfWork } as unknown as Database, deletedAtMs };
}

it.each(KINDS)('the deletion of an account deletes at most 2,000 of its %s in a second', async (kind) => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout'], fakeNodeBuiltins: true });
  onTestFinished(() => void vi.useRealTimers());
  const { database, deletedAtMs } = databaseOf(kind);
  const dropped = ACCOUNT_CONTENT.drop(database, 'the account');
  await vi.runAllTimersAsync();
  expect(Object.values(await dropped)).toContain(ROWS);
  const inSecondFrom = (fromMs: number) =>
    deletedAtMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + 1_000).length;
  const busiest = Math.max(...[...new Set(deletedAtMs)].map(inSecondFrom));
  expect(busiest).toBeLessThanOrEqual(2_000);
});
