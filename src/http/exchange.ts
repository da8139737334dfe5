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

/** The signal also fires once the client has received its response. */
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

export function createDisconnectSignal(signal: AbortSignal): DisconnectSignal {
  return {
    get disconnected() {
      return signal.aborted;
    },
    onDisconnect: (callback) => signal.addEventListener('abort', callback, { once: true }),
  };
}

export interface BodyCharge {
  /**
   * Charges the body to an owner.
   * @returns false if other bodies of that owner already use too much memory
   */
  own(owner: string): boolean;
}

/** Stage 1 reads the head of a request. */
export interface ReceivedRequest {
  readonly requestId: string;
  readonly route: Route;
  /** `startedAtMs` is on the monotonic clock. */
  readonly startedAtMs: number;
  /** `peerAddress` is the local IP address for a call of `app.fetch`. */
  readonly peerAddress: string;
  /** `rejection` is set if the request was rejected before it was complete, such as for a body over its limit. */
  readonly rejection: ApiError | undefined;
  /** `malformed` rejects a request without a valid URL before any routing. */
  readonly malformed: ApiError | undefined;
  /** `connection` is undefined for a call of `app.fetch`. */
  readonly connection: ClientSocket | undefined;
  /** True if the request bypasses Yoga's HTTP handling. */
  readonly fast: boolean;
  /** True for HEAD, whose response has no body. */
  readonly headOnly: boolean;
  /** True if the caller may come from the cache of credentials. */
  readonly allowUnverified: boolean;
  /** Undefined if the service cannot detect that the client disconnects. */
  readonly disconnectSignal: DisconnectSignal | undefined;
  /** Undefined if no acceptable type exists for a single response. */
  readonly mediaType: MediaType | undefined;
  /** Undefined if no acceptable type exists for an event stream. */
  readonly streamType: StreamType | undefined;
  readonly reservation: Reservation;
  readonly body: BodyCharge | undefined;
  /** Undefined if the request is not traced. */
  readonly trace: RequestTrace | undefined;
  readonly work: RequestWork;
}

export interface ClientLocation {
  /** `clientAddress` is the IP address of the client, resolved through trusted proxies. */
  readonly clientAddress: string;
  /** True if a proxy forwarded the request, or the client claims so. Such a request is not local. */
  readonly forwarded: boolean;
}

/** Stage 2 locates the client. */
export interface LocatedRequest extends ReceivedRequest, ClientLocation {}

/** Stage 3 runs the checks that need no credentials. */
export interface ScreenedRequest extends LocatedRequest {
  /** The error rejects the request once the request is counted, without a look-up of its credentials. */
  readonly screening: ApiError | undefined;
}

export interface CallerCredentials {
  /** Undefined if no plugin has the stage, or if authentication failed. */
  readonly caller: Caller | undefined;
  /** `place` is where the credential was found, valid or not. */
  readonly place: ExtractedCredential['place'] | undefined;
  /** Set if the caller came from the cache, so that the session must be verified. */
  readonly unverifiedSession: UnverifiedSession | undefined;
  /** A stream token opens this operation in place of an operation in the request. */
  readonly fixedOperation: FixedOperation | undefined;
  readonly used: ((use: CredentialUse) => void) | undefined;
  /**
   * The error says why the credentials were rejected or could not be looked up. The stage `limit` throws the error
   * after it has counted the request.
   */
  readonly error: unknown;
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

/** Stage 4 finds the caller, or the reason why there is none. */
export interface AuthenticatedRequest extends ScreenedRequest {
  readonly caller: Caller | undefined;
  readonly credentials: CallerCredentials;
}

export interface Counted {
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the tokens to their buckets. Undefined if the tokens must not be returned. */
  readonly giveBack: (() => Promise<void>) | undefined;
  readonly rejection: unknown;
}

export const NOTHING_COUNTED: Counted = { headers: {}, giveBack: undefined, rejection: undefined };

/** Stage 5 counts the request against all limits. Routes and the stage `schedule` get this type. */
export interface AdmittedRequest extends AuthenticatedRequest {
  readonly counted: Counted;
}

/** The response may come from any stage, so members of later stages may have their initial values. */
export interface FinishedRequest extends AdmittedRequest {
  readonly errorCodes: readonly string[];
  readonly operation: OperationReport | undefined;
  /** Undefined if the `Cache-Control` of the route applies. */
  readonly cacheControl: string | undefined;
}

/** Responds to a request. Undefined means that the path does not exist. */
export type RouteHandler = (
  request: HttpRequest,
  admitted: AdmittedRequest,
  url: RequestUrl,
) => Promise<HttpResponse | undefined>;

/** Requests without credentials are counted by IP address in these buckets (contract: rate limits). */
export type AddressBucket = 'requests' | 'logins' | 'tokens' | 'pages';

/**
 * A route defines everything that depends on the path (decisions/0031-routes.md). Every property is required, so that
 * a new route cannot omit any. The paths are in `src/http/routes/table.ts`.
 */
export interface Route {
  /** A segment may be a parameter such as `:id`. A final `/*` matches the prefix and all paths below. */
  readonly path: string;
  /** Other methods are 405 with these methods as `Allow`. */
  readonly methods: readonly string[];
  /** True if the handler reads the body. A body that could not be received is then rejected. */
  readonly readsBody: boolean;
  /** A request without credentials takes a token of this bucket of its IP address. Undefined takes no token. */
  readonly bucket: AddressBucket | undefined;
  /**
   * - `read`: credentials identify the caller, and invalid credentials are rejected.
   * - `with-stream-token`: like `read`, and only this route accepts a stream token.
   * - `required`: like `read`, and a request without credentials is rejected.
   * - `optional`: the route decides what invalid credentials mean.
   * - `session`: only a session counts. A revoked or expired session counts as none.
   * - `session-of-get`: like `session` for GET. No credentials count for other methods.
   * - `own`: the route reads the credentials itself.
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
   * True for a monitoring path, which blocked IP addresses may use. Its requests do not count as use and have no
   * trace. Successful requests have no log line at `info`.
   */
  readonly probe: boolean;
  /**
   * True if plain HTTP is rejected even without visible credentials, because the body or the response contains
   * credentials.
   */
  readonly needsTls: boolean;
  /**
   * True if caches may store the responses. Otherwise responses are `no-store`, unless caching.ts sets another value.
   */
  readonly storable: boolean;
  /** Responses depend on these request fields, in addition to the fields for origin, encoding and credentials. */
  readonly varies: readonly string[];
  /** Compression reveals the length of a response (BREACH), so responses with secrets are not compressed. */
  readonly compressible: boolean;
  readonly cors: boolean;
  /**
   * Requests that do more than read must come from a trusted origin or from no page. `own` allows only pages of the
   * service.
   */
  readonly originCheck: 'none' | 'with-cookie' | 'always' | 'own';
  /** True for a page that browsers may open from any site, but never embed in another page. */
  readonly documentOnly: boolean;
  readonly errors: (error: unknown, received: ReceivedRequest, log: Logger) => HttpResponse;
  /** Log and traces show the requested path, or the route's path if the requested path contains a secret. */
  readonly logged: 'asked' | 'route';
  /** Browsers that open the path get this route instead. */
  readonly page: Route | undefined;
  readonly handler: RouteHandler;
}

/** True if a session is the only credential that the route accepts. */
export const isSessionAlone = (credentials: Route['credentials']): boolean =>
  credentials === 'session' || credentials === 'session-of-get';

export type RouteProperties = Omit<Route, 'path' | 'handler'>;

/** Without a socket, most members are missing. */
export interface IncomingRequest
  extends Partial<
    Pick<
      ReceivedRequest,
      'rejection' | 'malformed' | 'connection' | 'disconnectSignal' | 'reservation' | 'body'
    >
  > {
  readonly peerAddress?: string | undefined;
  readonly httpVersion?: string;
  /** Undefined if the Accept header was not parsed yet. */
  readonly accepts?: Negotiated;
}
