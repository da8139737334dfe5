import { type Caller, isAuthenticated, type Principal } from '../auth/principal.ts';
import type { LogEvent } from '../events/log.ts';
import type { Queryable } from '../platform/db/statement.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { unauthenticated } from './errors.ts';

/** What every resolver gets. A new one is made for each operation and, in a subscription, for each event. */
export interface Context {
  readonly requestId: string;
  readonly caller: Caller;
  /** Where to read: the pool or, in a mutation, its unit of work. */
  readonly db: Queryable;
  /** The transaction of the mutation that runs; undefined in a query or subscription. */
  readonly unitOfWork: UnitOfWork | undefined;
  /** The events that this subscriber has still to get; the place is fixed when the promise resolves. */
  readonly events: () => Promise<AsyncIterable<LogEvent>>;
}

/** The unit of work of the running mutation. */
export function unitOfWorkOf({ unitOfWork }: Context): UnitOfWork {
  if (unitOfWork === undefined) throw new Error('there is no unit of work outside a mutation');
  return unitOfWork;
}

/** The account that acts. Throws UNAUTHENTICATED where there is none. */
export function principalOf({ caller }: Context): Principal {
  if (!isAuthenticated(caller))
    throw unauthenticated('This needs credentials.', { 'www-authenticate': 'Bearer' });
  return caller;
}
