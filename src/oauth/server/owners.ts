import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database } from '../../platform/db/database.ts';
import type { Queryable } from '../../platform/db/statement.ts';

/** Whose the database work of each request is: the library does not tell its storage for whom it works. */
export function createOwners(database: Pick<Database, 'owned'>) {
  const requests = new AsyncLocalStorage<{ owner: string }>();
  const ofRequest: Queryable = {
    query: (statement, values) => database.owned(requests.getStore()?.owner).query(statement, values),
  };
  return {
    /** Answers a request of an owner. */
    run: <T>(owner: string, answer: () => T): T => requests.run({ owner }, answer),
    /** Whoever sent the request is known by now: the rest of the work is this account's. */
    isOf(accountId: string): void {
      const request = requests.getStore();
      if (request !== undefined) request.owner = accountId;
    },
    /** The database for the request that is being answered. */
    database: ofRequest,
  };
}
