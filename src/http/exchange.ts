import type { ServerResponse } from 'node:http';
import type {
  CredentialUse,
  ExtractedCredential,
  FixedOperation,
  UnverifiedSession,
} from '../auth/authenticate.ts';
import type { Caller } from '../auth/principal.ts';
import type { FailedCredential } from '../auth/security-log.ts';
import type {
  ClientSocket,
  DisconnectSignal,
  MediaType,
  RequestWork,
  StreamType,
} from '../engine/documents/operation-request.ts';
import type { OperationReport } from '../engine/operation/operation-result.ts';
import type { ApiError } from '../platform/errors.ts';
import type { Reservation } from '../platform/fairness/response-memory.ts';
import type { Logger } from '../platform/log/log.ts';
import type { RequestTrace } from '../platform/tracing/tracing.ts';
import type { HttpRequest, HttpResponse, RequestUrl } from './message.ts';
import type { Negotiated } from './negotiate.ts';

/** Tells that the client of a response has disconnected or has received its response. */
export class SocketDisconnect implements DisconnectSignal {
  #callback: (() => void) | undefined;
  disconnected = false;

  constructor(outgoing: ServerResponse) {
    outgoing.once('close', () => {
      this.disconnected = true;
      this.#callback?.();
    });
  }

  onDisconnect(callback: () => void): void {
    this.#callback = callback;
  }
}

/** Tells that the client of a Fetch API request has aborted the request. */
export function createDisconnectSignal(signal: AbortSignal): DisconnectSignal {
  return {
    get disconnected() {
      return signal.aborted;
    },
    onDisconnect: (callback) => signal.addEventListener('abort', callback, { once: true }),
  };
}

/** The memory of a request's body, and who it counts for. */
export interface BodyCharge {
  /** Charges it to an owner. False if that owner has too much in bodies already. */
  own(owner: string): boolean;
}

/** Stage 1: what the head of a request says. */
export interface ReceivedRequest {
  /** The client's own id if the client has sent one. */
  readonly requestId: string;
  /** What the service knows of the request's path. */
  readonly route: Route;
  /** On the clock that does not jump. */
  readonly startedAtMs: number;
  /** The IP address of the socket's peer; the local IP address for a call of `app.fetch`. */
  readonly peerAddress: string;
  /** Why the request was rejected before it was complete, such as a body over its limit. */
  readonly rejection: ApiError | undefined;
  /** Why the request has no URL to route by: it is rejected with this error before any routing. */
  readonly malformed: ApiError | undefined;
  /** The connection of the response; undefined for a call of `app.fetch`. */
  readonly connection: ClientSocket | undefined;
  /** True if the request bypasses Yoga's HTTP handling. */
  readonly fast: boolean;
  /** True for HEAD, whose response is the response to GET without the body. */
  readonly headOnly: boolean;
  /** True if the caller may be taken from the cache of credentials. */
  readonly allowUnverified: boolean;
  /** Undefined if it cannot be detected that the client disconnects. */
  readonly disconnectSignal: DisconnectSignal | undefined;
  /** The media type of a single response; undefined if none is acceptable. */
  readonly mediaType: MediaType | undefined;
  /** The media type of a subscription's events; undefined if none is acceptable. */
  readonly streamType: StreamType | undefined;
  /** The memory that the response uses. */
  readonly reservation: Reservation;
  /** The memory that the body uses; undefined if the body is too small to count. */
  readonly body: BodyCharge | undefined;
  /** Undefined if nothing is traced. */
  readonly trace: RequestTrace | undefined;
  readonly work: RequestWork;
}

/** What stage `locate` finds. */
export interface ClientLocation {
  /** The IP address that the request comes from, resolved through trusted proxies. */
  readonly clientAddress: string;
  /** True if a proxy has forwarded the request, or the client claims so: it is not a local request then. */
  readonly forwarded: boolean;
}

/** Stage 2: the client is located. */
export interface LocatedRequest extends ReceivedRequest, ClientLocation {}

/** Stage 3: nothing that needs no credentials rejects the request immediately. */
export interface ScreenedRequest extends LocatedRequest {
  /** Rejects the request once it is counted, in place of looking up its credentials. */
  readonly screening: ApiError | undefined;
}

/** What stage `authenticate` finds. */
export interface CallerCredentials {
  /** Undefined if there is no plugin with the stage, and if it failed. */
  readonly caller: Caller | undefined;
  /** Where the credential in effect was found, valid or not. */
  readonly place: ExtractedCredential['place'] | undefined;
  /** Set if the caller was taken from the cache and the session has to be verified. */
  readonly unverifiedSession: UnverifiedSession | undefined;
  /** The operation that a stream token opens, in place of one in the request. */
  readonly fixedOperation: FixedOperation | undefined;
  /** Records that the credentials were used. */
  readonly used: ((use: CredentialUse) => void) | undefined;
  /** Why the credentials were rejected, or could not be looked up. The request is rejected with this error once it is counted. */
  readonly error: unknown;
  /** The rejected credential, for the log. */
  readonly failed: FailedCredential | undefined;
}

export const NO_CREDENTIALS: CallerCredentials = {
  caller: undefined,
  place: undefined,
  unverifiedSession: undefined,
  fixedOperation: undefined,
  used: undefined,
  error: undefined,
  failed: undefined,
};

/** Stage 4: the caller is known, or why not. */
export interface AuthenticatedRequest extends ScreenedRequest {
  readonly caller: Caller | undefined;
  readonly credentials: CallerCredentials;
}

/** What stage `limit` has counted. */
export interface Counted {
  /** Header fields with the remaining tokens. */
  readonly headers: Readonly<Record<string, string>>;
  /** Gives back what was taken; undefined if nothing may be given back. */
  readonly giveBack: (() => Promise<void>) | undefined;
  /** The error that the request is rejected with; undefined if it was allowed. */
  readonly rejection: unknown;
}

export const NOTHING_COUNTED: Counted = { headers: {}, giveBack: undefined, rejection: undefined };

/** Stage 5: counted against all limits. Routes and stage `schedule` get this type. */
export interface AdmittedRequest extends AuthenticatedRequest {
  readonly counted: Counted;
}

/** What is known of a request when its response goes out, as far as the request came. */
export interface FinishedRequest extends AdmittedRequest {
  /** The codes of the errors in the response. */
  readonly errorCodes: readonly string[];
  /** The operation of the request; undefined if it selects none. */
  readonly operation: OperationReport | undefined;
  /** The `Cache-Control` of this response, if it differs from the value of the route. */
  readonly cacheControl: string | undefined;
}

/** Responds to a request; undefined if there is nothing at its path after all. */
export type RouteHandler = (
  request: HttpRequest,
  admitted: AdmittedRequest,
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
  /** Whether it reads the body, and rejects one that could not be received. */
  readonly readsBody: boolean;
  /** Which bucket of its address a request without credentials takes a token of; undefined if no request takes any. */
  readonly bucket: AddressBucket | undefined;
  /**
   * - `read`: they tell who asks, and bad ones are rejected.
   * - `with-stream-token`: as `read`, and a stream token counts, here alone.
   * - `required`: as `read`, and a request without any is rejected too.
   * - `optional`: what bad ones mean is for the route to say.
   * - `session`: it may come with a session, and nothing else counts; one that has ended is nobody's.
   * - `session-of-get`: as `session` for a GET; for others nothing counts.
   * - `own`: the route reads them itself.
   * - `ignored`: every client gets a response immediately, before any limit.
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
  /** True if it is rejected over plain HTTP even without visible credentials: its body or its response has some. */
  readonly needsTls: boolean;
  /** Whether caches may store its responses. If not, they are `no-store`, but for those that say more (caching.ts). */
  readonly storable: boolean;
  /** The request fields that its responses depend on, beside those of the origin, the coding and the credentials. */
  readonly varies: readonly string[];
  /** Whether its responses may be compressed, which tells their length (BREACH). */
  readonly compressible: boolean;
  /** Whether pages of `CORS_ORIGINS` may read its responses. */
  readonly cors: boolean;
  /**
   * Which requests that do more than read must come from a page of a trusted origin, or from no page. `own`: from a page of
   * the service itself.
   */
  readonly originCheck: 'none' | 'with-cookie' | 'always' | 'own';
  /** Whether it is a page that browsers open from any site, and never as a part of another page. */
  readonly documentOnly: boolean;
  /** The form of its rejections. */
  readonly errors: (error: unknown, received: ReceivedRequest, log: Logger) => HttpResponse;
  /** Which path log and traces show: the one asked for, or that of the route if the one asked for is a secret. */
  readonly logged: 'asked' | 'route';
  /** The route for a browser that opens the path, if that is another one. */
  readonly page: Route | undefined;
  readonly handler: RouteHandler;
}

/** Whether a session is all that counts there. */
export const isSessionAlone = (credentials: Route['credentials']): boolean =>
  credentials === 'session' || credentials === 'session-of-get';

/** What routes can have in common. */
export type RouteProperties = Omit<Route, 'path' | 'handler'>;

/** What a server knows of a new request. */
export interface IncomingRequest {
  readonly peerAddress?: string | undefined;
  readonly rejection?: ApiError | undefined;
  readonly malformed?: ApiError | undefined;
  readonly connection?: ClientSocket | undefined;
  /** Undefined without a socket. */
  readonly httpVersion?: string | undefined;
  readonly disconnectSignal?: DisconnectSignal | undefined;
  /** Undefined without a socket: nobody waits for the response to be read then. */
  readonly reservation?: Reservation | undefined;
  readonly body?: BodyCharge | undefined;
  /** What its Accept header asks for; undefined if nobody has looked yet. */
  readonly accepts?: Negotiated | undefined;
}
