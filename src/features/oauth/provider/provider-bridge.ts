import type { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Configuration, KoaContextWithOIDC, default as Provider } from 'oidc-provider';
import { toErrorResponse } from '../../../engine/core/mask-error.ts';
import { FORM_TYPE, isObject } from '../../../http/body.ts';
import type { AdmittedRequest, Route } from '../../../http/exchange.ts';
import { errorPage, pageHeaders } from '../../../http/html/page.ts';
import { type HttpRequest, HttpResponse, type HttpResponseOptions } from '../../../http/message.ts';
import { jsonResponse } from '../../../http/response/responder.ts';
import type { ErrorCode } from '../../../platform/errors.ts';
import type { Logger } from '../../../platform/log/log.ts';
import type { ReportOutcome } from './oauth-requests.ts';

/** RFC 6749 §4.1.2.1 and §5.2 define the codes. */
const OAUTH_CODES: Partial<Record<ErrorCode, string>> = {
  UNAUTHENTICATED: 'invalid_client',
  RATE_LIMITED: 'temporarily_unavailable',
  SERVICE_UNAVAILABLE: 'temporarily_unavailable',
  TIMEOUT: 'temporarily_unavailable',
  INTERNAL_SERVER_ERROR: 'server_error',
};

export const oauthErrorResponse = (
  error: string,
  description: string,
  options: HttpResponseOptions,
): HttpResponse =>
  jsonResponse({ error, error_description: description }, { errorCodes: [error], ...options });

/** Internal errors are logged in full and hidden from the client. */
export const oauthErrors: Route['errors'] = (error, { requestId }, log) => {
  const { code, status, headers, message } = toErrorResponse(error, { requestId, log });
  // RFC 6749 §5.2 allows only ASCII without quotes and backslashes.
  const description = message.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?');
  const name = OAUTH_CODES[code] ?? 'invalid_request';
  return oauthErrorResponse(name, description, { status, headers, errorCodes: [code] });
};

/** RFC 9110 §15.5.2 requires a challenge with a 401. */
export const basicChallenge = (issuer: string) => `Basic realm="${issuer}", error="invalid_client"`;

/**
 * Browsers never get the library's resume cookie. The bridge adds it to the requests passed to the library.
 */
export const RESUME_COOKIE = 'resume';

interface LibraryCall {
  readonly request: HttpRequest;
  readonly admitted: AdmittedRequest;
  /** The path and query for the library. */
  readonly target: string;
  /** The library gets the parsed form, so that both sides see the same values. */
  readonly form?: URLSearchParams;
  /** The sign-in to resume, after its browser was verified. */
  readonly resumes?: string;
}

/**
 * The library expects Node's HTTP objects, which are created without a socket. The client's only header that it gets is
 * Authorization. URLs in the response have the issuer's origin, independent of the Host header.
 */
class LibraryRequest extends IncomingMessage {
  readonly requestId: string;
  /** Set once the library has begun. */
  context: KoaContextWithOIDC | undefined;
  /** An error that is not the client's. */
  failure: unknown;
  errorCodes: readonly string[] = [];

  constructor({ request, admitted, target, form, resumes }: LibraryCall, issuer: string) {
    const { host, protocol } = new URL(issuer);
    super(Object.assign(new Socket(), { encrypted: protocol === 'https:' }));
    this.requestId = admitted.requestId;
    const method = resumes === undefined ? request.method : 'GET';
    const body = Buffer.from(form?.toString() ?? '');
    const headers: Record<string, string> = { host };
    const authorization = request.headers.get('authorization');
    if (authorization !== null) headers.authorization = authorization;
    if (method === 'POST') headers['content-length'] = String(body.length);
    if (form !== undefined) headers['content-type'] = FORM_TYPE;
    if (resumes !== undefined) headers.cookie = `${RESUME_COOKIE}=${resumes}`;
    Object.assign(this, { method, url: target, httpVersion: '1.1', headers, complete: true });
    if (body.length > 0) this.push(body);
    this.push(null);
  }
}

function requestOf({ req }: Pick<KoaContextWithOIDC, 'req'>): LibraryRequest {
  if (req instanceof LibraryRequest) return req;
  throw new Error('the request to the library did not come from the bridge');
}

/** RFC 6749 §5.2 has specific codes for errors that the library reports as invalid requests. */
const ERROR_NAMES = new Map<unknown, string>([
  ['requested grant type is not allowed for this client', 'unauthorized_client'],
  ['no client authentication mechanism provided', 'invalid_client'],
  ['invalid authorization header value format', 'invalid_client'],
  ['client_id and client_secret in the authorization header are not properly encoded', 'invalid_client'],
  ['client_secret must be provided in the Authorization header', 'invalid_client'],
]);

function correctError(context: KoaContextWithOIDC, { issuer }: Provider): void {
  const { body } = context;
  if (!isObject(body) || typeof body.error !== 'string') return;
  const error = ERROR_NAMES.get(body.error_description) ?? body.error;
  context.body = { ...body, error };
  requestOf(context).errorCodes = [error];
  if (error !== 'invalid_client') return;
  context.status = 401;
  context.set('www-authenticate', basicChallenge(issuer));
}

/** Must be called once for each provider. */
export function watchProvider(provider: Provider, log: Logger): void {
  provider.use(async (ctx, next) => {
    const context = ctx as KoaContextWithOIDC;
    const request = requestOf(context);
    request.context = context;
    // Otherwise Koa would write the response to a socket.
    context.respond = false;
    // The library adds the hash of its script to a form that submits itself.
    context.set(
      'content-security-policy',
      "default-src 'none'; script-src; frame-ancestors 'none'; base-uri 'none'",
    );
    try {
      await next();
    } catch (error) {
      request.failure = error;
    }
    correctError(context, provider);
  });
  provider.on('authorization.error', (context, { error }) => {
    requestOf(context).errorCodes = [error];
  });
  provider.on('server_error', (context, error) => {
    requestOf(context).failure = error;
  });
  // Without a listener, Koa would write the error to the console. The library's types do not have the event.
  (provider as EventEmitter).on('error', (error) => log.emit('oauth.internal_error', { err: error }));
}

/** Messages to the user for errors that cannot be sent to the application. */
const MESSAGES: Readonly<Record<string, string>> = {
  invalid_client:
    'The application that sent you here is not registered. Contact the provider of the application.',
  invalid_redirect_uri:
    'The application that sent you here uses a redirect URI that is not registered for it. Nothing was sent there. Contact the provider of the application.',
};
const OTHERWISE = 'Go back to the application and start again.';

/**
 * These errors must not be sent to the application, because that would be an open redirect. The route responds to
 * errors that are not the client's.
 */
export const renderError: NonNullable<Configuration['renderError']> = (
  context,
  { error, error_description },
) => {
  const { requestId } = requestOf(context);
  const detail = [error, error_description].filter((part) => part !== undefined).join(': ');
  const message = MESSAGES[error] ?? OTHERWISE;
  context.set(pageHeaders());
  context.body = errorPage({ title: 'Unable to continue', message, detail, requestId });
};

/** Header fields of the library's responses that the service sets itself or does not send. */
const OURS = /^(?:content-length|set-cookie|access-control-.*)$/;

function toHttpResponse({ status, body, type, response }: KoaContextWithOIDC): HttpResponse {
  const fields = Object.entries(response.headers).filter(([name]) => !OURS.test(name));
  const headers = new Map(fields.map(([name, value]) => [name, String(value)]));
  if (type === 'text/html') headers.set('cross-origin-opener-policy', 'same-origin');
  else headers.delete('content-security-policy');
  const content = typeof body === 'string' ? body : body == null ? '' : JSON.stringify(body);
  return new HttpResponse(content, { status, headers: Object.fromEntries(headers) });
}

export interface LibraryResult {
  readonly response: HttpResponse;
  /** The client that was found, even if its secret is wrong. */
  readonly client: KoaContextWithOIDC['oidc']['client'];
}

/**
 * @param provider throws DatabaseError
 * @param takeSlot resolves when the call of a request may begin
 * @returns a function that calls the library, and throws errors that are not the client's
 */
export function createLibraryCall(
  provider: () => Promise<Provider>,
  takeSlot: (admitted: AdmittedRequest) => Promise<ReportOutcome>,
) {
  return async (call: LibraryCall): Promise<LibraryResult> => {
    const current = await provider();
    const reportOutcome = await takeSlot(call.admitted);
    const request = new LibraryRequest(call, current.issuer);
    await current.callback()(request, new ServerResponse(request));
    const { context, failure, errorCodes } = request;
    if (failure !== undefined || context === undefined) {
      // An outage is not the client's error.
      reportOutcome(false);
      throw failure ?? new Error('the library has not handled the request');
    }
    const response = toHttpResponse(context);
    response.errorCodes = errorCodes;
    reportOutcome(response.status >= 400 && response.status < 500);
    return { response, client: context.oidc.client };
  };
}

export type CallLibrary = ReturnType<typeof createLibraryCall>;
