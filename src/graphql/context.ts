import type { Passwords } from '../auth/password-check.ts';
import { type Caller, isAuthenticated, type Principal } from '../auth/principal.ts';
import type { Scope } from '../auth/scopes.ts';
import type { FeedEvent } from '../events/feed.ts';
import type { Queryable } from '../platform/db/statement.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { unauthenticated } from './errors.ts';
import type { OperationPlans } from './operation-plans.ts';

/**
 * The ways that lead to an answer: `fast_path` a request past Yoga's own HTTP handling, `whole_answer` a query that the
 * database answers by itself, `one_statement` a mutation that is one statement, `look_ahead` a root field read with all
 * that it selects, `loaders` one that is left to its resolver and to loaders.
 */
export type AnswerPath = 'fast_path' | 'whole_answer' | 'one_statement' | 'look_ahead' | 'loaders';

/** What every resolver gets. A new one is made for each operation and, in a subscription, for each event. */
export interface Context {
  readonly requestId: string;
  readonly caller: Caller;
  /** Whether root fields read their whole selection at once; the loaders do it otherwise. */
  readonly lookAhead: boolean;
  /** What has been worked out of the operation before. */
  readonly plans: OperationPlans;
  /** What an answer may have. */
  readonly maxResponseBytes: number;
  /** Called for each way that is taken. */
  readonly onPath: (path: AnswerPath) => void;
  /** Where to read: the pool or, in a mutation, its unit of work. */
  readonly db: Queryable;
  /** The transaction of the mutation that runs; undefined in a query or subscription. */
  readonly unitOfWork: UnitOfWork | undefined;
  /** Where a resolver notes the scopes that it has shown rows of others by; undefined where nobody asks. */
  readonly notedScopes?: Set<Scope> | undefined;
  /** For whoever has to check or hash one: there is a limit to guessing and to how much is done at a time. */
  readonly passwords: Passwords;
  /** The events that this subscriber has still to get; the place is fixed when the promise resolves. */
  readonly events: () => Promise<AsyncIterable<readonly FeedEvent[]>>;
}

/** The unit of work of the running mutation. */
export function unitOfWorkOf({ unitOfWork }: Context): UnitOfWork {
  if (unitOfWork === undefined) throw new Error('there is no unit of work outside a mutation');
  return unitOfWork;
}

/** The account that acts. Throws UNAUTHENTICATED where there is none. */
export function principalOf({ caller }: Context): Principal {
  if (!isAuthenticated(caller))
    throw unauthenticated('Credentials are required.', { 'www-authenticate': 'Bearer' });
  return caller;
}
