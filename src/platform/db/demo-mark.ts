import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../operator-error.ts';
import { type Queryable, statement } from './statement.ts';

/** Where a first start in development leaves the demo credentials. */
export const demoFile = (dataDir: string) => join(dataDir, 'demo.json');

const MARKED = statement<{ one: number }>('demo_marked', 'SELECT 1 AS one FROM demo_seed LIMIT 1');

/**
 * Throws OperatorError if development has seeded the folder, or a database that was later copied or renamed.
 */
export async function refuseSeeded(db: Queryable, dataDir: string): Promise<void> {
  if (existsSync(demoFile(dataDir)) || (await db.query(MARKED, [])).length > 0)
    throw new OperatorError(
      `The embedded database in "${dataDir}" was seeded by development: it holds demo accounts whose credentials were printed and written to a file. Production refuses it: set DATA_DIR to another folder.`,
    );
}
