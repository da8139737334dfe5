import type { ServerResponse } from 'node:http';
import type { DocumentNode } from 'graphql';
import type { CredentialUse, FixedOperation, Presented, Provisional } from '../auth/authenticate.ts';
import type { Caller } from '../auth/principal.ts';
import type { FailedCredential } from '../auth/security-log.ts';
import type { DeprecatedElement } from '../engine/documents/deprecations.ts';
import type {
  Connection,
  Departure,
  MediaType,
  OperationCost,
  OperationRequest,
  StreamType,
} from '../engine/documents/operation-request.ts';
import type { ApiError } from '../platform/errors.ts';
import type { Reservation } from '../platform/fairness/response-memory.ts';
import { normaliseAddress } from '../platform/ip-address.ts';
import type { Logger } from '../platform/log/log.ts';
import type { RequestTrace, Span } from '../platform/tracing/tracing.ts';
import type { HttpRequest, HttpResponse, RequestUrl } from './message.ts';
import type { Negotiated } from './negotiate.ts';

/** The client of a response disconnects, or has its response. */
export class SocketDeparture implements Departure {
  #callback: (() => void) | undefined;
  left = false;

  constructor(outgoing: ServerResponse) {
    outgoing.once('close', () => {
      this.left = true;
      this.#callback?.();
    });
  }

  onLeave(callback: () => void): void {
    this.#callback = callback;
  }
}

/** The client of a Fetch API request aborts it. */
export function departureOf(signal: AbortSignal): Departure {
  return {
    get left() {
      return signal.aborted;
    },
    onLeave: (callback) => signal.addEventListener('abort', callback, { once: true }),
  };
}

/** The memory of a request's body, and who it counts for. */
export interface BodyCharge {
  /** Charges it to an owner. False if that owner has too much in bodies already. */
  own(owner: string): boolean;
}

/** The state of an HTTP request, filled in by the plugins in the order in which they run. */
export class RequestState implements OperationRequest {
  /** The client's own id if it sent one, except for an answer that a shared cache may give to others. */
  requestId: string;
  /** What the service knows of the request's path. */
  readonly route: Route;
  /** On the clock that does not jump. */
  readonly startedAtMs: number;
  /** The address of the socket's peer; the local address for a call of `app.fetch`. */
  readonly peerAddress: string;
  /** The address that the request comes from, resolved through trusted proxies. */
  clientAddress: string;
  /** Whether a proxy forwarded the request, or the client claims so: it is not a local request then. */
  forwarded = false;
  /** Undefined until authentication has run, and if it failed. */
  caller: Caller | undefined = undefined;
  /** Whether the caller may be taken from memory. */
  readonly mayBeProvisional: boolean;
  /** Set if the caller was taken from memory and has to be confirmed. */
  provisional: Provisional | undefined = undefined;
  /** Gives back the rate-limit token that was taken for a provisional caller. */
  giveTokenBack: (() => Promise<void>) | undefined = undefined;
  /** Where the credential in effect was found, valid or not. */
  credentialPlace: Presented['place'] | undefined = undefined;
  /** The operation that a stream token opens, in place of one in the request. */
  fixedOperation: FixedOperation | undefined = undefined;
  /** Records that the caller's credentials were used. */
  credentialUsed: ((use: CredentialUse) => void) | undefined = undefined;
  /**
   * Why authentication or its look-up failed, or was not even begun. The request is refused with this once it is
   * counted.
   */
  authenticationError: unknown = undefined;
  /** Whether it was refused because its address is blocked. */
  blocked = false;
  /** The credential that was refused, for the log. */
  failedCredential: FailedCredential | undefined = undefined;
  /** The `Cache-Control` of this answer, if it differs from that of the route. */
  cacheControl: string | undefined = undefined;
  /** Headers set on the response, whatever it is. */
  readonly responseHeaders: Record<string, string> = {};
  /** Why the request was refused before it was complete, such as a body over its limit. */
  readonly refusal: ApiError | undefined;
  /** Why the request has no URL to route by: it is refused with this before any routing. */
  readonly malformed: ApiError | undefined;
  /** The connection of the response; undefined for a call of `app.fetch`. */
  readonly connection: Connection | undefined;
  /** Whether the request bypasses Yoga's HTTP handling. */
  readonly fast: boolean;
  /** Whether it is HEAD: it is answered as GET, without the body. */
  readonly headOnly: boolean;
  /** Undefined if it cannot be detected that the client disconnects. */
  readonly departure: Departure | undefined;
  /** The media type of a single response; undefined if none is acceptable. */
  readonly mediaType: MediaType | undefined;
  /** The media type of a subscription's events; undefined if none is acceptable. */
  readonly streamType: StreamType | undefined;
  /** The memory that the response holds. */
  readonly reservation: Reservation;
  /** That of the body; undefined if there is none worth counting. */
  readonly body: BodyCharge | undefined;
  /** The cost of the operation, if the client asked for it. */
  cost: OperationCost | undefined = undefined;
  /** What its operation may cost, whether or not the client asked; 0 without an operation. */
  complexity = 0;
  /** How long the database has worked on the statements of its operation. */
  databaseMs = 0;
  /** Undefined if nothing is traced, and once the request is answered. */
  trace: RequestTrace | undefined;
  /** The step that its statements belong to; undefined if its trace is not sampled. */
  span: Span | undefined;
  /** Whether the client asks for an event id that fits the answer to its query, and the id once it is known. */
  showsEventId = false;
  eventId: string | undefined = undefined;
  /** For the log: the kind and name of the operation, and the codes of its errors. */
  operationKind: 'query' | 'mutation' | 'subscription' | undefined = undefined;
  operationName: string | undefined = undefined;
  errorCodes: readonly string[] | undefined = undefined;
  /** What a mutation did: its root fields and, once it is committed, the ids of what they changed. */
  changes: { readonly fields: readonly string[]; readonly ids?: readonly string[] } | undefined = undefined;
  /** Whether the heartbeats of its stream are to be events. */
  visibleHeartbeats = false;
  /** Whether the operation was only checked: a stream token may open it later. */
  checkedOnly = false;
  /** By which published document the operation may run: its id, or the digest of its text. Undefined if by none. */
  published: { readonly by: 'id' | 'digest'; readonly key: string } | undefined = undefined;
  /** Set once the operation is valid. */
  document: DocumentNode | undefined = undefined;
  /** Deprecated schema elements that the operation uses, and whether the client asks to be told of each. */
  deprecated: readonly DeprecatedElement[] | undefined = undefined;
  showsDeprecations = false;

  constructor(arrival: Arrival, head: Head) {
    this.requestId = head.requestId;
    this.route = head.route;
    this.startedAtMs = head.startedAtMs;
    this.peerAddress = normaliseAddress(arrival.peerAddress ?? '127.0.0.1');
    this.clientAddress = this.peerAddress;
    this.refusal = arrival.refusal;
    this.malformed = arrival.malformed;
    this.connection = arrival.connection;
    this.fast = head.fast;
    this.headOnly = head.headOnly;
    this.mayBeProvisional = head.mayBeProvisional;
    this.departure = arrival.departure;
    this.mediaType = head.accepts.single;
    this.streamType = head.accepts.stream;
    this.reservation = head.reservation;
    this.body = arrival.body;
    this.trace = head.trace;
    this.span = head.trace?.span;
  }
}

/** Answers a request; undefined if there is nothing at its path after all. */
export type Answer = (
  request: HttpRequest,
  state: RequestState,
  url: RequestUrl,
) => Promise<HttpResponse | undefined>;

/** The kinds of requests without credentials that are counted separately for each address (contract section 5). */
export type AddressBucket = 'requests' | 'logins' | 'tokens' | 'pages';

/**
 * All that the service knows of a path. Every property is required, so that a new route cannot forget one (decision
 * 31). The paths are in `src/http/routes/table.ts`.
 */
export interface Route {
  /** A segment may be a parameter, as `:id`. With `/*` at its end it is everything below, and the folder itself. */
  readonly path: string;
  /** Any other is 405, with these as `Allow`. */
  readonly methods: readonly string[];
  /** Whether it reads the body, and refuses one that could not be received. */
  readonly readsBody: boolean;
  /** Which bucket of its address a request without credentials takes a token of; undefined if no request takes any. */
  readonly bucket: AddressBucket | undefined;
  /**
   * - `read`: they tell who asks, and bad ones are refused.
   * - `with-stream-token`: as `read`, and a stream token counts, here alone.
   * - `required`: as `read`, and a request without any is refused too.
   * - `optional`: what bad ones mean is for the route to say.
   * - `session`: it may come with a session, and nothing else counts; one that has ended is nobody's.
   * - `session-of-get`: as `session` for a GET; for others nothing counts.
   * - `own`: the route reads them itself.
   * - `ignored`: anybody is answered at once, before any limit.
   */
  readonly credentials:
    | 'read'
    | 'with-stream-token'
    | 'required'
    | 'optional'
    | 'session'
    | 'session-of-get'
    | 'own'
    | 'ignored';
  /**
   * True for a path of monitoring. It serves blocked addresses, too, and counts as no use of the service. Its requests have no
   * trace, and no log line at `info` if they succeed.
   */
  readonly probe: boolean;
  /** Whether it is refused over plain HTTP even if no credentials are to be seen: its body or its answer has some. */
  readonly needsTls: boolean;
  /** Whether caches may store its answers. If not, they are `no-store`, but for those that say more (caching.ts). */
  readonly storable: boolean;
  /** The request fields that its answers depend on, beside those of the origin, the coding and the credentials. */
  readonly varies: readonly string[];
  /** Whether its answers may be compressed, which tells their length (BREACH). */
  readonly compressible: boolean;
  /** Whether pages of `CORS_ORIGINS` may read its answers. */
  readonly cors: boolean;
  /**
   * Which requests that do more than read must come from a page of a trusted origin, or from no page. `own`: from a page of
   * the service itself.
   */
  readonly originCheck: 'none' | 'with-cookie' | 'always' | 'own';
  /** Whether it is a page that browsers open from any site, and never as a part of another page. */
  readonly documentOnly: boolean;
  /** The form of its refusals. */
  readonly errors: (error: unknown, state: RequestState, log: Logger) => HttpResponse;
  /** Which path log and traces show: the one asked for, or that of the route if the one asked for is a secret. */
  readonly logged: 'asked' | 'route';
  /** The route that answers a browser that opens the path, if that is another one. */
  readonly page: Route | undefined;
  readonly answer: Answer;
}

/** Whether a session is all that counts there. */
export const isSessionAlone = (credentials: Route['credentials']): boolean =>
  credentials === 'session' || credentials === 'session-of-get';

/** What routes can have in common. */
export type RouteProperties = Omit<Route, 'path' | 'answer'>;

/** What a server knows of an arriving request. */
export interface Arrival {
  readonly peerAddress?: string | undefined;
  readonly refusal?: ApiError | undefined;
  readonly malformed?: ApiError | undefined;
  readonly connection?: Connection | undefined;
  /** Undefined without a socket. */
  readonly httpVersion?: string | undefined;
  readonly departure?: Departure | undefined;
  /** Undefined without a socket: nobody waits for the response to be read then. */
  readonly reservation?: Reservation | undefined;
  readonly body?: BodyCharge | undefined;
  /** What its Accept header asks for; undefined if nobody has looked yet. */
  readonly accepts?: Negotiated | undefined;
}

/** What the head of a request says. */
export interface Head {
  readonly startedAtMs: number;
  readonly requestId: string;
  readonly route: Route;
  readonly accepts: Negotiated;
  readonly fast: boolean;
  readonly headOnly: boolean;
  /** Only where all that is done for the caller has them confirmed first. */
  readonly mayBeProvisional: boolean;
  readonly reservation: Reservation;
  readonly trace: RequestTrace | undefined;
}
