import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../operator-error.ts';
import { type Queryable, statement } from './statement.ts';

/** Where a first start in development leaves the demo credentials. */
export const demoFile = (dataDir: string) => join(dataDir, 'demo.json');

/** A PostgreSQL whose migrations are pending may lack the table. */
const MARKABLE = statement<{ found: boolean }>(
  'demo_markable',
  `SELECT to_regclass('demo_seed') IS NOT NULL AS found`,
);
const MARKED = statement<{ one: number }>('demo_marked', 'SELECT 1 AS one FROM demo_seed LIMIT 1');

async function isMarked(db: Queryable): Promise<boolean> {
  const [table] = await db.query(MARKABLE, []);
  return table?.found === true && (await db.query(MARKED, [])).length > 0;
}

/**
 * Throws OperatorError if development has seeded the folder, or a database that was later copied, renamed or exported to
 * a server.
 */
export async function refuseSeeded(
  db: Queryable & { readonly kind: 'embedded' | 'postgres' },
  dataDir: string,
): Promise<void> {
  const embedded = db.kind === 'embedded';
  if (!(embedded && existsSync(demoFile(dataDir))) && !(await isMarked(db))) return;
  const [place, cure] = embedded
    ? [`embedded database in "${dataDir}"`, 'set DATA_DIR to another folder']
    : ['database of DATABASE_URL', 'name another database'];
  throw new OperatorError(
    `The ${place} was seeded by development: it holds demo accounts whose credentials were printed and written to a file. Production refuses it: ${cure}.`,
  );
}
