import { expect, it } from 'vitest';
import { statement } from '../../../src/database/statement.ts';
import * as generated from '../../../src/generated/tables.ts';
import { useApp } from '../../support/app.ts';

const app = useApp();

/** Prisma has no type for `xid8` and `tsvector`, so that these columns are in no row type. */
const UNSUPPORTED = [
  ...['events.xid', 'event_log.pruned_xid', 'event_log.held_xid'],
  ...['search_entries.document'],
];

const COLUMNS = statement<{ name: string }>(
  'test_columns',
  `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
   WHERE table_schema = current_schema() AND table_name <> '_prisma_migrations'`,
);

it('the generated tables and columns are those of the migrated database', async () => {
  const columns = Object.values(generated).flatMap(({ name, columns }) =>
    Object.values<string>(columns).map((column) => `${name}.${column}`),
  );
  const found = await app.database.query(COLUMNS, []);
  expect([...columns, ...UNSUPPORTED].sort()).toEqual(found.map(({ name }) => name).sort());
});
