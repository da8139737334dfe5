import type { UnverifiedSession } from '../../auth/authenticate.ts';
import type { ClientIdentity } from '../../auth/principal.ts';
import type { Reservation } from '../../platform/fairness/response-memory.ts';
import type { RequestFields } from '../../platform/request-fields.ts';
import type { Span } from '../../platform/tracing/tracing.ts';

/** Apollo's multipart protocol for subscriptions, as an Accept header names it. */
export const MULTIPART = 'multipart/mixed;subscriptionSpec=1.0';

/** The media types of streams of events. */
export type StreamType = 'text/event-stream' | typeof MULTIPART;

/** The media types of single responses. */
export type SingleType = 'application/json' | 'application/graphql-response+json' | 'text/event-stream';

/** The media types of GraphQL responses. */
export type MediaType = SingleType | StreamType;

/** Tells when a client disconnects. Lighter than an AbortController: thousands of streams have one each. */
export interface DisconnectSignal {
  readonly disconnected: boolean;
  /** Calls back when the client disconnects. Replaces an earlier callback. */
  onDisconnect(callback: () => void): void;
}

/** The most that an operation can cost. */
export interface OperationCost {
  readonly complexity: number;
  readonly depth: number;
}

/** The connection that a response goes out on; a Node socket is one. */
export interface ClientSocket {
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  /** Closes the connection immediately and discards pending data, which no client reads any more. */
  resetAndDestroy(): unknown;
}

/** The head of the HTTP request of an operation. */
export interface OperationHead {
  readonly method: string;
  readonly url: string;
  readonly headers: RequestFields;
}

/** What a request has done so far: for the log, metrics and traces. */
export interface RequestWork {
  /** The time that PostgreSQL has spent on the statements. */
  databaseMs: number;
  /** The step that the next statements belong to; undefined if the request is not traced. */
  span: Span | undefined;
  /** The root fields of the last mutation and, once it is committed, the ids of what they have changed. */
  changes: { readonly fields: readonly string[]; readonly ids?: readonly string[] } | undefined;
}

/** By which published document an operation may run: its id, or the digest of its text. */
export interface PublishedBy {
  readonly by: 'id' | 'digest';
  readonly key: string;
}

/** Who sends an operation, and over which connection. An open stream keeps this object, and nothing else of its request. */
export interface OperationRequest extends ClientIdentity {
  readonly requestId: string;
  readonly unverifiedSession: UnverifiedSession | undefined;
  /** The media type of a single response; undefined if none is acceptable. */
  readonly mediaType: MediaType | undefined;
  /** The media type of a subscription's events; undefined if none is acceptable. */
  readonly streamType: StreamType | undefined;
  readonly headOnly: boolean;
  readonly connection: ClientSocket | undefined;
  readonly disconnectSignal: DisconnectSignal | undefined;
  readonly reservation: Reservation;
  readonly work: RequestWork;
}
