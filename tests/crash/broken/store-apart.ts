/**
 * What many services do: the mutation commits, and then its response is stored under the key, on another connection.
 * The crash tests must notice, or they would show nothing about the service either.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { KeyOwner } from '../../../src/operation/idempotency/seal.ts';
import {
  findResponse as find,
  type StoredResponse,
  type StoreOptions,
  storeResponse as store,
} from '../../../src/operation/idempotency/store.ts';
import type { Queryable } from '../../../src/platform/db/statement.ts';
import { UnitOfWork } from '../../../src/platform/db/unit-of-work.ts';

export {
  HOLD_KEY,
  keyLock,
  lockKey,
  lockName,
  oldResponses,
  RELEASE_KEY,
  storeResponseAlone,
} from '../../../src/operation/idempotency/store.ts';

/** As long as a busy queue takes. */
const LATER_MS = 30;

let pool: Queryable | undefined;

export function findResponse(
  db: Queryable,
  owner: KeyOwner,
  limits: StoreOptions,
  reserve: (bytes: number) => void,
): Promise<StoredResponse | undefined> {
  if (!(db instanceof UnitOfWork)) pool = db;
  return find(db, owner, limits, reserve);
}

export async function storeResponse(
  db: Queryable,
  owner: KeyOwner,
  stored: StoredResponse,
  options: StoreOptions,
): Promise<void> {
  if (!(db instanceof UnitOfWork)) throw new Error('a response is stored with its mutation');
  const commit = db.commit.bind(db);
  db.commit = async () => {
    await commit();
    // Whether it gets there is nobody's concern: that is what is wrong with it.
    void delay(LATER_MS)
      .then(() => pool && store(pool, owner, stored, options))
      .catch(() => undefined);
  };
}
