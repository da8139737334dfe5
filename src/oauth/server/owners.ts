import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database } from '../../platform/db/database.ts';
import type { Queryable } from '../../platform/db/statement.ts';

/** Whose the database work of each request is: the library does not tell its storage for whom it works. */
export interface Owners {
  /** Answers a request of an owner. */
  run<T>(owner: string, answer: () => T): T;
  /** Whoever sent the request is known by now: the rest of the work is this account's. */
  isOf(accountId: string): void;
  /** The database for the request that is being answered. */
  readonly database: Queryable;
}

export function createOwners(database: Pick<Database, 'owned'>): Owners {
  const requests = new AsyncLocalStorage<{ owner: string }>();
  return {
    run: (owner, answer) => requests.run({ owner }, answer),
    isOf(accountId) {
      const request = requests.getStore();
      if (request !== undefined) request.owner = accountId;
    },
    database: {
      query: (statement, values) => database.owned(requests.getStore()?.owner).query(statement, values),
    },
  };
}
