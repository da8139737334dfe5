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
 * What the `subscribe` function of a field returns: where the caller's events start. graphql-js asks for an
 * async iterable there. This one is never iterated: subscribers whose responses are the same share one reading
 * of each event.
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
 * How a response was produced. `fast_path`: the request bypassed Yoga's HTTP handling. `database_response`: the
 * database wrote the whole response, or some root fields of the response. `single_statement`: the mutation ran as a single
 * statement. `loaders`: a root field was left to its resolver and loaders.
 */
export type ExecutionPath = 'fast_path' | 'database_response' | 'single_statement' | 'loaders';

/** How the response to a request was made, for the debug log. */
export interface Trace {
  readonly paths: Set<ExecutionPath>;
  /** Why the database did not write the whole response: the first reason. */
  fallbackReason?: string;
}

/** What a mutation does, for the log. */
export interface Changes {
  /** The names of its root fields. */
  readonly fields: string[];
  /** The ids of what they changed. */
  readonly ids: string[];
}

/** The context of every resolver. Each operation gets a new one, and so does each event of a subscription. */
export interface Context {
  readonly requestId: string;
  /** The public origin of the service. */
  readonly origin: () => string;
  readonly caller: Caller;
  /** Set if the session of the caller has to be verified, or had to be. */
  readonly unverifiedSession?: UnverifiedSession | undefined;
  /** Whether the database writes responses. If not, loaders read what they show. */
  readonly lookAhead: boolean;
  /** Plans derived from the operation's text, cached with its document. */
  readonly plans: OperationPlans;
  /** The maximum size of a response. */
  readonly maxResponseBytes: number;
  /** If the client asks for it, takes what the snapshot of a query's first statement says of the log (`SNAPSHOT_NAME`). */
  readonly onSnapshot?: ((name: string | null) => Promise<void>) | undefined;
  /** Called for each path taken. */
  readonly onPath: (path: ExecutionPath) => void;
  /** Undefined unless the log is at level `debug`. */
  readonly trace?: Trace | undefined;
  /** What to read from: the pool or, in a mutation, its unit of work. */
  readonly db: Queryable;
  /** The transaction of the running mutation; undefined in queries and subscriptions. */
  readonly unitOfWork: UnitOfWork | undefined;
  /** What the fields of the running mutation change; undefined in queries and subscriptions. */
  readonly changes?: Changes | undefined;
  /** Undefined in queries and subscriptions. */
  readonly onPasswordChanged: ((opened: OpenedSession) => void) | undefined;
  /** Resolvers add the scopes that they check for some rows only. Undefined if not recorded. */
  readonly notedScopes?: Set<Scope> | undefined;
  /** What the fields of a mutation prepared before its unit of work began. */
  readonly prepared?: Preparations;
  /** The key of the loaders' caches, in place of the context: each try of a mutation loads its rows again. */
  readonly [contextCacheSymbol]?: object;
  /** The events that follow for this subscriber. Its position is fixed when the promise resolves. */
  readonly events: () => Promise<EventReader>;
}

/** Records why the database does not write the whole response. Only the first reason counts. */
export function recordFallback({ trace }: Pick<Context, 'trace'>, reason: string): undefined {
  if (trace !== undefined) trace.fallbackReason ??= reason;
}

/** The unit of work of the running mutation. */
export function unitOfWorkOf({ unitOfWork }: Context): UnitOfWork {
  if (unitOfWork === undefined) throw new Error('there is no unit of work outside a mutation');
  return unitOfWork;
}

/**
 * Has the running mutation, which has changed the caller's password and opened a session, go on in that session. The
 * client gets its cookie if all of the mutation is committed.
 */
export function passwordChanged({ onPasswordChanged }: Context, opened: OpenedSession): void {
  if (onPasswordChanged === undefined) throw new Error('no password is changed outside a mutation');
  onPasswordChanged(opened);
}

/** No client gets this error: the request restarts, and its credentials are looked up. */
export const callerNotVerified = () =>
  unauthenticated('The credentials expired or were revoked during the request. Log in again.', {});

/** Verifies the caller's session, if it is unverified. Throws `callerNotVerified`, DatabaseError. */
export async function verifyCaller({ unverifiedSession }: Pick<Context, 'unverifiedSession'>): Promise<void> {
  if (unverifiedSession !== undefined && !(await unverifiedSession.verifyByLookUp()))
    throw callerNotVerified();
}

/** The caller's principal. Throws UNAUTHENTICATED for anonymous callers. */
export function principalOf({ caller }: Pick<Context, 'caller'>): Principal {
  if (!isAuthenticated(caller))
    throw unauthenticated(ERRORS.UNAUTHENTICATED.message, { 'www-authenticate': 'Bearer' });
  return caller;
}

/**
 * What to read from where several statements make the response. If the client asks for it, what is known of the event log is read before
 * the first of them: no change that one of them does not show is older.
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
