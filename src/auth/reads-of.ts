import { Cancellation } from '../platform/db/cancellation.ts';
import type { Database } from '../platform/db/database.ts';
import type { Queryable } from '../platform/db/statement.ts';

/** The database for reads of an owner, who takes turns with others and is charged for them (decision 16). */
export const readsOf = (database: Pick<Database, 'cancellable'>, owner: string | undefined): Queryable =>
  database.cancellable(new Cancellation(undefined, owner));
