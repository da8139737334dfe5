import type { YogaInitialContext, Plugin as YogaPlugin } from 'graphql-yoga';
import { type Caller, isAuthenticated } from '../auth/principal.ts';
import type { FeedStart } from '../events/feed.ts';
import type { Context } from '../graphql/context.ts';
import type { ApiError } from '../graphql/errors.ts';
import { addressKey, normaliseAddress } from './client-address.ts';
import type { OperationCost } from './operation-limits/limits.ts';

/** What is known of one HTTP request, filled in by the plugins in the order in which they run. */
export interface RequestState {
  requestId: string;
  readonly startedAtMs: number;
  /** The address of the socket's other end; undefined for a call of `app.fetch`. */
  readonly peerAddress: string | undefined;
  /** The address that the request comes from, behind trusted proxies too. */
  clientAddress: string;
  /** Undefined until authentication has run, and where it failed. */
  caller: Caller | undefined;
  /** What was wrong with the credentials, or with looking them up. The request is refused with it once it is counted. */
  authenticationError: unknown;
  /** Headers that go on the response, whatever it is. */
  readonly responseHeaders: Record<string, string>;
  /** What was wrong with the request before it was whole, such as a body past its limit: it is refused with that. */
  readonly refusal: ApiError | undefined;
  /** Ends the event stream of this request. */
  readonly stop: AbortController;
  /** Where the event stream of this request starts; undefined where it is none. */
  eventStart?: FeedStart;
  /** What the operation costs, where the client wants to know. */
  cost?: OperationCost;
  /** For the log: the kind and the name of the operation, and the codes of its errors. */
  operationKind?: 'query' | 'mutation' | 'subscription';
  operationName?: string;
  errorCodes?: readonly string[];
}

/** What travels with a request through Yoga beside the request itself. */
export interface ServerContext {
  readonly state: RequestState;
}

export type HttpPlugin = YogaPlugin<Context, ServerContext>;
export type OperationContext = YogaInitialContext & ServerContext & Context;

export interface NewRequest {
  readonly nowMs: number;
  readonly peerAddress?: string | undefined;
  readonly refusal?: ApiError | undefined;
}

export function newRequestState({ nowMs, peerAddress, refusal }: NewRequest): RequestState {
  return {
    requestId: '',
    clientAddress: normaliseAddress(peerAddress ?? '127.0.0.1'),
    authenticationError: undefined,
    startedAtMs: nowMs,
    peerAddress,
    caller: undefined,
    responseHeaders: {},
    refusal,
    stop: new AbortController(),
  };
}

/** Whom a request counts for: the caller or, without one, the address. Never what a client chooses. */
export function clientOf({ caller, clientAddress }: RequestState): string {
  return caller !== undefined && isAuthenticated(caller)
    ? caller.clientId
    : `address:${addressKey(clientAddress)}`;
}

/** The path of an absolute URL, without the cost of parsing it whole. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  const end = url.search(/[?#]/);
  return start < 0 ? '/' : url.slice(start, end < 0 ? undefined : end);
}
