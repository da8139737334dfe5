import type { Database } from '../../platform/db/database.ts';
import type { StoredPart } from './stored-part.ts';

/** What the modules keep of what an account has written. */
export interface AccountContent {
  /** The option of `admin user delete` that says what becomes of it: its name, and what it means. */
  readonly option: { readonly name: string; readonly description: string };
  /** What is stored of it, for `admin user export`. */
  readonly stored: readonly StoredPart[];
  /** How many of each kind were deleted, by the names of the command's answer, where nothing was. */
  readonly none: Readonly<Record<string, number>>;
  /**
   * Deletes what is there, in bounded transactions that tell of it, and returns how many of each kind. Safe to repeat.
   * Throws DatabaseError.
   */
  drop(database: Database, account: string): Promise<Readonly<Record<string, number>>>;
}
