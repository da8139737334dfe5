import { expect, it } from 'vitest';
import { MAX_PREPARED } from '../../src/platform/db/named-query.ts';
import { statement } from '../../src/platform/db/statement.ts';
import { useApp } from '../support/app.ts';
import { dataOf } from '../support/refusal.ts';

const app = useApp();
const PREPARED = statement<{ count: number }>(
  'count_prepared',
  'SELECT count(*)::int AS count FROM pg_prepared_statements',
);

it('queries that are all different leave the database no more statements to keep than a bound', async () => {
  const { id, key } = await app.account({ name: 'Same' });
  const ask = async (alias: string) =>
    dataOf(await app.gql(`{ user(id: "${id}") { ${alias}: name } }`, { key }));
  for (let n = 0; n < MAX_PREPARED + 100; n += 1)
    expect(await ask(`a${n}`)).toEqual({ user: { [`a${n}`]: 'Same' } });
  const [prepared] = await app.database.query(PREPARED, []);
  expect(prepared?.count).toBeLessThanOrEqual(MAX_PREPARED);
  // What was let go of is prepared again.
  expect(await ask('a0')).toEqual({ user: { a0: 'Same' } });
});
