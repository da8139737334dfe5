import type { DocumentNode } from 'graphql';
import type { FixedOperation, Presented } from '../auth/authenticate.ts';
import type { Caller } from '../auth/principal.ts';
import type { FailedCredential } from '../auth/security-log.ts';
import type { ApiError } from '../graphql/errors.ts';
import { normaliseAddress } from './client-address.ts';
import type { Departure } from './departure.ts';
import type { MediaType, StreamType } from './media-type.ts';
import type { Hold } from './pending-responses.ts';

/** The most that an operation can cost. */
export interface OperationCost {
  readonly complexity: number;
  readonly depth: number;
}

/** The connection that a response goes out on; a Node socket is one. */
export interface Connection {
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  /** Ends the connection at once and discards pending data: nobody is left to read it. */
  resetAndDestroy(): unknown;
}

/** The memory of a request's body. */
export interface HeldBody {
  /** Charges it to an owner. False if that owner has too much in bodies already. */
  own(owner: string): boolean;
}

/** The state of an HTTP request, filled in by the plugins in the order in which they run. */
export interface RequestState {
  requestId: string;
  readonly startedAtMs: number;
  /** The address of the socket's peer; the local address for a call of `app.fetch`. */
  readonly peerAddress: string;
  /** The address that the request comes from, resolved through trusted proxies. */
  clientAddress: string;
  /** Whether a proxy forwarded the request, or the client claims so: it is not a local request then. */
  forwarded: boolean;
  /** Undefined until authentication has run, and if it failed. */
  caller: Caller | undefined;
  /** Where the credential in effect was found, valid or not. */
  credentialPlace: Presented['place'] | undefined;
  /** The operation that a stream token opens, in place of one in the request. */
  fixedOperation?: FixedOperation | undefined;
  /** Records that the caller's credentials were used. */
  credentialUsed?: (() => void) | undefined;
  /** Why authentication or its look-up failed. The request is refused with this once it is counted. */
  authenticationError: unknown;
  /** The credential that was refused, for the log. */
  failedCredential?: FailedCredential | undefined;
  /** Headers set on the response, whatever it is. */
  readonly responseHeaders: Record<string, string>;
  /** Why the request was refused before it was complete, such as a body over its limit. */
  readonly refusal: ApiError | undefined;
  /** Why the request has no URL to route by: it is refused with this before any routing. */
  readonly malformed: ApiError | undefined;
  /** The connection of the response; undefined for a call of `app.fetch`. */
  readonly connection: Connection | undefined;
  /** Whether refusals use the OAuth format (RFC 6749 section 5.2) instead of that of all other routes. */
  oauth: boolean;
  /** Whether the request bypasses Yoga's HTTP handling. */
  fast: boolean;
  /** Undefined if it cannot be detected that the client disconnects. */
  readonly departure: Departure | undefined;
  /**
   * The media type of a single response, undefined if none is acceptable. Plain JSON until Accept has been read.
   */
  mediaType: MediaType | undefined;
  /** The media type of a subscription's events; undefined if none is acceptable. */
  streamType: StreamType | undefined;
  /** The memory that the response holds. */
  readonly hold: Hold;
  /** That of the body; undefined if there is none worth counting. */
  readonly body: HeldBody | undefined;
  /** The cost of the operation, if the client asked for it. */
  cost?: OperationCost;
  /** For the log: the kind and name of the operation, and the codes of its errors. */
  operationKind?: 'query' | 'mutation' | 'subscription';
  operationName?: string;
  /** Set once the operation is valid. */
  document: DocumentNode | undefined;
  /** Deprecated schema elements that the operation uses. */
  deprecated?: readonly string[];
  errorCodes?: readonly string[];
}

export interface NewRequest {
  readonly nowMs: number;
  readonly peerAddress?: string | undefined;
  readonly refusal?: ApiError | undefined;
  readonly malformed?: ApiError | undefined;
  readonly connection?: Connection | undefined;
  readonly departure?: Departure | undefined;
  readonly hold: Hold;
  readonly body?: HeldBody | undefined;
}

/**
 * What a server knows of an arriving request. Without a socket nobody waits for the response to be read, so
 * `hold` is optional.
 */
export type Arrival = Omit<NewRequest, 'nowMs' | 'hold'> & { readonly hold?: Hold };

class ArrivedRequest implements RequestState {
  requestId = '';
  readonly startedAtMs: number;
  readonly peerAddress: string;
  clientAddress: string;
  forwarded = false;
  caller: Caller | undefined = undefined;
  credentialPlace: Presented['place'] | undefined = undefined;
  authenticationError: unknown = undefined;
  readonly responseHeaders: Record<string, string> = {};
  readonly refusal: ApiError | undefined;
  readonly malformed: ApiError | undefined;
  readonly connection: Connection | undefined;
  readonly departure: Departure | undefined;
  oauth = false;
  fast = false;
  document: DocumentNode | undefined = undefined;
  mediaType: MediaType | undefined = 'application/json';
  streamType: StreamType | undefined = undefined;
  readonly hold: Hold;
  readonly body: HeldBody | undefined;

  constructor({
    nowMs,
    peerAddress = '127.0.0.1',
    refusal,
    malformed,
    connection,
    departure,
    hold,
    body,
  }: NewRequest) {
    this.startedAtMs = nowMs;
    this.peerAddress = normaliseAddress(peerAddress);
    this.clientAddress = this.peerAddress;
    this.refusal = refusal;
    this.malformed = malformed;
    this.connection = connection;
    this.departure = departure;
    this.hold = hold;
    this.body = body;
  }
}

export function newRequestState(request: NewRequest): RequestState {
  return new ArrivedRequest(request);
}
