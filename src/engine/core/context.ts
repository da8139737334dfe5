import type { contextCacheSymbol } from '@pothos/core';
import type { UnverifiedSession } from '../../auth/authenticate.ts';
import { type Caller, isAuthenticated, type Principal } from '../../auth/principal.ts';
import type { Scope } from '../../auth/scopes.ts';
import type { OpenedSession } from '../../auth/sessions.ts';
import type { Queryable } from '../../database/statement.ts';
import type { UnitOfWork } from '../../database/unit-of-work.ts';
import { ERRORS, unauthenticated } from '../../platform/errors.ts';
import { readSnapshotName } from '../events/event-log.ts';
import type { FeedStart } from '../events/feed.ts';
import type { Preparations } from './before-transaction.ts';
import type { OperationPlans } from './selection.ts';

/**
 * Start of a subscriber's events, returned by the `subscribe` function of a field. graphql-js requires an async
 * iterable. Nothing iterates the object, because subscribers with equal responses share one reading of each event.
 */
export class EventReader implements AsyncIterable<never> {
  readonly start: FeedStart;

  constructor(start: FeedStart) {
    this.start = start;
  }

  [Symbol.asyncIterator](): AsyncIterator<never> {
    throw new Error('events are delivered to shared subscriptions, not iterated');
  }
}

/**
 * `fast_path`: the request bypassed Yoga's HTTP handling. `database_response`: the database wrote at least some root
 * fields of the response. `single_statement`: the mutation ran as a single statement. `loaders`: a root field was left
 * to its resolver and loaders.
 */
export type ExecutionPath = 'fast_path' | 'database_response' | 'single_statement' | 'loaders';

export interface Trace {
  readonly paths: Set<ExecutionPath>;
  /** The first reason why the database did not write the whole response. */
  fallbackReason?: string;
}

export interface Changes {
  readonly fields: string[];
  readonly ids: string[];
}

/** Each operation and each event of a subscription gets a new context. */
export interface Context {
  readonly requestId: string;
  readonly origin: () => string;
  readonly caller: Caller;
  /** Set if the session of the caller has not been verified, or was verified during the operation. */
  readonly unverifiedSession?: UnverifiedSession | undefined;
  /** True if the database writes responses. Otherwise loaders read the rows. */
  readonly lookAhead: boolean;
  readonly plans: OperationPlans;
  readonly maxResponseBytes: number;
  /**
   * Receives the position in the event log (`SNAPSHOT_NAME`) that the first statement of a query has seen. Undefined
   * unless the client asks for the event id.
   */
  readonly onSnapshot?: ((name: string | null) => Promise<void>) | undefined;
  readonly onPath: (path: ExecutionPath) => void;
  /** Undefined unless the log is at level `debug`. */
  readonly trace?: Trace | undefined;
  /** The pool or, in a mutation, its unit of work. */
  readonly db: Queryable;
  /** Undefined in queries and subscriptions. */
  readonly unitOfWork: UnitOfWork | undefined;
  /** Undefined in queries and subscriptions. */
  readonly changes?: Changes | undefined;
  /** Undefined in queries and subscriptions. */
  readonly onPasswordChanged: ((opened: OpenedSession) => void) | undefined;
  /** Resolvers add the scopes that they check for some rows only. Undefined if not recorded. */
  readonly notedScopes?: Set<Scope> | undefined;
  readonly prepared?: Preparations;
  /** Replaces the context as the key of the loader caches, because each try of a mutation loads its rows again. */
  readonly [contextCacheSymbol]?: object;
  /** The subscriber's position is fixed when the promise resolves. */
  readonly events: () => Promise<EventReader>;
}

/** Only the first reason counts. */
export function recordFallback({ trace }: Pick<Context, 'trace'>, reason: string): undefined {
  if (trace !== undefined) trace.fallbackReason ??= reason;
}

export function unitOfWorkOf({ unitOfWork }: Context): UnitOfWork {
  if (unitOfWork === undefined) throw new Error('there is no unit of work outside a mutation');
  return unitOfWork;
}

/**
 * Continues the running mutation in a session that the mutation has opened after changing the caller's password. The
 * client gets the session cookie only if the mutation commits.
 */
export function passwordChanged({ onPasswordChanged }: Context, opened: OpenedSession): void {
  if (onPasswordChanged === undefined) throw new Error('no password is changed outside a mutation');
  onPasswordChanged(opened);
}

/** No client gets this error, because the request restarts and its credentials are looked up. */
export const callerNotVerified = () =>
  unauthenticated('The credentials expired or were revoked during the request. Log in again.');

/**
 * @throws {ApiError} `callerNotVerified`
 * @throws {DatabaseError}
 */
export async function verifyCaller({ unverifiedSession }: Pick<Context, 'unverifiedSession'>): Promise<void> {
  if (unverifiedSession !== undefined && !(await unverifiedSession.verifyByLookUp()))
    throw callerNotVerified();
}

/** @throws {ApiError} UNAUTHENTICATED for anonymous callers */
export function principalOf({ caller }: Pick<Context, 'caller'>): Principal {
  if (!isAuthenticated(caller)) throw unauthenticated(ERRORS.UNAUTHENTICATED.message);
  return caller;
}

/**
 * Serves a response that takes several statements. If the client asks for the event id, the position in the event log
 * is read before the first statement. Events from that position include every change that the response does not show.
 */
export function afterSnapshot({ db, onSnapshot }: Pick<Context, 'db' | 'onSnapshot'>): Queryable {
  if (onSnapshot === undefined) return db;
  let snapshotRead: Promise<void> | undefined;
  return {
    async query(statement, values) {
      snapshotRead ??= readSnapshotName(db).then(onSnapshot);
      await snapshotRead;
      return db.query(statement, values);
    },
  };
}
