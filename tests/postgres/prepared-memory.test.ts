import { expect, it } from 'vitest';
import { statement } from '../../src/database/statement.ts';
import { useApp } from '../support/app.ts';
import { dataOf } from '../support/rejection.ts';

const CONNECTIONS = 10;
const app = useApp({ settings: { DATABASE_POOL_SIZE: String(CONNECTIONS) } });

const KEPT = statement<{ backend: number; statements: number; bytes: number }>(
  'kept_prepared',
  `SELECT pg_backend_pid() AS backend, (SELECT count(*)::int FROM pg_prepared_statements) AS statements, (SELECT sum(total_bytes)::int
     FROM pg_backend_memory_contexts WHERE name LIKE 'CachedPlan%') AS bytes`,
);

/** What the backend of each connection of the pool keeps: each is held until all have told. */
async function keptByAll() {
  const works = Array.from({ length: CONNECTIONS }, () => app.database.unitOfWork());
  const told = await Promise.all(works.map((work) => work.query(KEPT, [])));
  await Promise.all(works.map((work) => work.rollback()));
  return told.flat();
}

/** A selection of its own that PostgreSQL keeps about half a megabyte for. */
function shape(n: number): string {
  const fields = Array.from(
    { length: 14 },
    (_, i) => `f${i}: author { posts(limit: 1) { id ${i === 0 ? `n${n}: title` : 'title'} } }`,
  );
  return `{ posts(limit: 1) { ${fields.join(' ')} } }`;
}

it('Queries of many shapes, each again and again, leave PostgreSQL at most 128 MiB of prepared statements', async () => {
  const { key } = await app.account();
  for (let n = 0; n < 60; n += 1) {
    const asked = Array.from({ length: 2 * CONNECTIONS }, () => app.gql(shape(n), { key }));
    for (const response of await Promise.all(asked)) dataOf(response);
  }
  const kept = await keptByAll();
  expect(new Set(kept.map(({ backend }) => backend)).size).toBe(CONNECTIONS);
  const sum = kept.reduce((total, { bytes }) => total + bytes, 0);
  expect(sum).toBeGreaterThan(2 ** 20);
  expect(sum).toBeLessThanOrEqual(128 * 2 ** 20);
});
