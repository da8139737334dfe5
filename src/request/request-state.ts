import type { Presented } from '../auth/authenticate.ts';
import type { Caller } from '../auth/principal.ts';
import type { FeedStart } from '../events/feed.ts';
import type { ApiError } from '../graphql/errors.ts';
import { normaliseAddress } from './client-address.ts';
import type { MediaType } from './media-type.ts';
import type { Hold } from './pending-responses.ts';

/** What an operation would cost at most. */
export interface OperationCost {
  readonly complexity: number;
  readonly depth: number;
}

/** What there is to know of the connection that an answer goes out on; a socket of Node's is one. */
export interface Connection {
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  /** Ends the connection at once: nobody is there to take what still waits. */
  resetAndDestroy(): unknown;
}

/** What is known of one HTTP request, filled in by the plugins in the order in which they run. */
export interface RequestState {
  requestId: string;
  readonly startedAtMs: number;
  /** The address of the socket's other end; this machine's for a call of `app.fetch`. */
  readonly peerAddress: string;
  /** The address that the request comes from, behind trusted proxies too. */
  clientAddress: string;
  /** Whether a proxy has passed the request on, or the client says so: then it is not from this machine. */
  forwarded: boolean;
  /** Undefined until authentication has run, and where it failed. */
  caller: Caller | undefined;
  /** Where the credential was found that counts, good or bad. */
  credentialPlace: Presented['place'] | undefined;
  /** Notes that the caller's credentials were used. */
  credentialUsed?: (() => void) | undefined;
  /** What was wrong with the credentials, or with looking them up. The request is refused with it once it is counted. */
  authenticationError: unknown;
  /** Headers that go on the response, whatever it is. */
  readonly responseHeaders: Record<string, string>;
  /** What was wrong with the request before it was whole, such as a body past its limit: it is refused with that. */
  readonly refusal: ApiError | undefined;
  /** Why the request has no address that routes could go by: it is refused with that before any of them sees it. */
  readonly malformed: ApiError | undefined;
  /** What the answer goes out on; undefined for a call of `app.fetch`. */
  readonly connection: Connection | undefined;
  /** Refusals are written as OAuth has them (RFC 6749 section 5.2), and not in the form of all other routes. */
  oauth: boolean;
  /** Whether it goes past Yoga's HTTP handling. */
  fast: boolean;
  /** Aborted when the client goes away; undefined where nobody can tell. */
  readonly gone: AbortSignal | undefined;
  /** Ends the event stream of this request. */
  readonly stop: AbortController;
  /** What the client wants its answer as, undefined where it accepts nothing that there is. Plain JSON until that is read. */
  mediaType: MediaType | undefined;
  /** Where the event stream of this request starts; undefined where it is none. */
  eventStart?: FeedStart;
  /** What the answer holds of this process' memory. */
  readonly hold: Hold;
  /** What the operation costs, where the client wants to know. */
  cost?: OperationCost;
  /** For the log: the kind and the name of the operation, and the codes of its errors. */
  operationKind?: 'query' | 'mutation' | 'subscription';
  operationName?: string;
  /** What of the schema the operation uses though it is deprecated. */
  deprecated?: readonly string[];
  errorCodes?: readonly string[];
}

export interface NewRequest {
  readonly nowMs: number;
  readonly peerAddress?: string | undefined;
  readonly refusal?: ApiError | undefined;
  readonly malformed?: ApiError | undefined;
  readonly connection?: Connection | undefined;
  readonly gone?: AbortSignal | undefined;
  readonly hold: Hold;
}

/** What a server knows of a request when it comes; without a socket, nobody waits for the answer to be read. */
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
  readonly gone: AbortSignal | undefined;
  oauth = false;
  fast = false;
  mediaType: MediaType | undefined = 'application/json';
  readonly hold: Hold;
  #stop: AbortController | undefined;

  constructor({ nowMs, peerAddress = '127.0.0.1', refusal, malformed, connection, gone, hold }: NewRequest) {
    this.startedAtMs = nowMs;
    this.peerAddress = normaliseAddress(peerAddress);
    this.clientAddress = this.peerAddress;
    this.refusal = refusal;
    this.malformed = malformed;
    this.connection = connection;
    this.gone = gone;
    this.hold = hold;
  }

  /** Few requests open a stream. */
  get stop(): AbortController {
    this.#stop ??= new AbortController();
    return this.#stop;
  }
}

export function newRequestState(request: NewRequest): RequestState {
  return new ArrivedRequest(request);
}
