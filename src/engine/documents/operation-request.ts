import type { UnverifiedSession } from '../../auth/authenticate.ts';
import type { ClientIdentity } from '../../auth/principal.ts';
import type { Reservation } from '../../platform/fairness/response-memory.ts';
import type { RequestFields } from '../../platform/request-fields.ts';
import type { Span } from '../../platform/tracing/tracing.ts';

/** Apollo's multipart protocol for subscriptions, as an Accept header names it. */
export const MULTIPART = 'multipart/mixed;subscriptionSpec=1.0';

export type StreamType = 'text/event-stream' | typeof MULTIPART;

export type SingleType = 'application/json' | 'application/graphql-response+json' | 'text/event-stream';

export type MediaType = SingleType | StreamType;

/** An AbortController would be heavier, and thousands of streams have one each. */
export interface DisconnectSignal {
  readonly disconnected: boolean;
  /** Replaces an earlier callback. */
  onDisconnect(callback: () => void): void;
}

/** The upper bound of an operation's cost. */
export interface OperationCost {
  readonly complexity: number;
  readonly depth: number;
}

export interface ClientSocket {
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  /** Closes the connection immediately and discards pending data. */
  resetAndDestroy(): unknown;
}

export interface OperationHead {
  readonly method: string;
  readonly url: string;
  readonly headers: RequestFields;
}

export interface RequestWork {
  /** The time that PostgreSQL has spent on the statements. */
  databaseMs: number;
  /** The parent span of the next statements; undefined if the request is not traced. */
  span: Span | undefined;
  /** The root fields of the last mutation and, once the mutation is committed, the ids of the changed rows. */
  changes: { readonly fields: readonly string[]; readonly ids?: readonly string[] } | undefined;
}

/** The published document is named by its id or the digest of its text. */
export interface PublishedBy {
  readonly by: 'id' | 'digest';
  readonly key: string;
}

/** An open stream retains this object, and nothing else of its request. */
export interface OperationRequest extends ClientIdentity {
  readonly requestId: string;
  readonly unverifiedSession: UnverifiedSession | undefined;
  /** Undefined if no media type for a single response is acceptable. */
  readonly mediaType: MediaType | undefined;
  /** Undefined if no media type for a subscription's events is acceptable. */
  readonly streamType: StreamType | undefined;
  readonly headOnly: boolean;
  readonly connection: ClientSocket | undefined;
  readonly disconnectSignal: DisconnectSignal | undefined;
  readonly reservation: Reservation;
  readonly work: RequestWork;
}
