import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Configuration, KoaContextWithOIDC, default as Provider } from 'oidc-provider';
import { type MaskOptions, toErrorResponse } from '../../../engine/core/mask-error.ts';
import type { AdmittedRequest, ReceivedRequest, Route } from '../../../http/exchange.ts';
import { errorPage, pageHeaders } from '../../../http/html/page.ts';
import type { HttpResponse, HttpResponseOptions } from '../../../http/message.ts';
import { jsonResponse } from '../../../http/response/responder.ts';
import type { ErrorCode } from '../../../platform/errors.ts';
import type { Logger } from '../../../platform/log/log.ts';

/** RFC 6749 §4.1.2.1 and §5.2 define the codes. */
const OAUTH_CODES: Partial<Record<ErrorCode, string>> = {
  UNAUTHENTICATED: 'invalid_client',
  RATE_LIMITED: 'temporarily_unavailable',
  SERVICE_UNAVAILABLE: 'temporarily_unavailable',
  TIMEOUT: 'temporarily_unavailable',
  INTERNAL_SERVER_ERROR: 'server_error',
};

export interface OAuthErrorResponse extends Required<Pick<HttpResponseOptions, 'errorCodes'>> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: string;
  readonly description: string;
}

/** Internal errors are logged in full and hidden from the client. */
export function toOAuthError(
  error: unknown,
  { requestId }: ReceivedRequest,
  log: MaskOptions['log'],
): OAuthErrorResponse {
  const { code, status, headers, message } = toErrorResponse(error, { requestId, log });
  // RFC 6749 §5.2 allows only ASCII without quotes and backslashes.
  const description = message.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?');
  const name = OAUTH_CODES[code] ?? 'invalid_request';
  return { status, headers, error: name, description, errorCodes: [code] };
}

export function oauthErrorResponse({ error, description, ...options }: OAuthErrorResponse): HttpResponse {
  return jsonResponse({ error, error_description: description }, options);
}

export const oauthErrors: Route['errors'] = (error, received, log) =>
  oauthErrorResponse(toOAuthError(error, received, log));

interface Named {
  readonly error: string;
  readonly error_description?: string | undefined;
}

const NOT_ITS_GRANT = 'requested grant type is not allowed for this client';
/** RFC 6749 §5.2 uses invalid_client for both missing and malformed authentication. */
const NOT_AUTHENTICATED: ReadonlySet<string | undefined> = new Set([
  'no client authentication mechanism provided',
  'invalid authorization header value format',
  'client_id and client_secret in the authorization header are not properly encoded',
  'client_secret must be provided in the Authorization header',
]);

const EVENTS = ['grant.error', 'revocation.error', 'introspection.error'] as const;

/** RFC 6749 §5.2 has specific codes for errors that the library reports as invalid requests. */
function nameOf({ error, error_description }: Named): string {
  if (error_description === NOT_ITS_GRANT) return 'unauthorized_client';
  return NOT_AUTHENTICATED.has(error_description) ? 'invalid_client' : error;
}

/** RFC 9110 §15.5.2 requires a challenge with a 401. */
export const basicChallenge = (issuer: string) => `Basic realm="${issuer}", error="invalid_client"`;

export function nameClientErrors(provider: Provider): void {
  const rename = (ctx: KoaContextWithOIDC, error: Named) => {
    const name = nameOf(error);
    const { error_description } = error;
    if (name !== error.error) ctx.body = { error: name, error_description };
    if (name !== 'invalid_client') return;
    ctx.status = 401;
    ctx.set('www-authenticate', basicChallenge(provider.issuer));
  };
  for (const event of EVENTS) (provider as EventEmitter).on(event, rename);
}

/** Messages to the user for errors that cannot be sent to the application. */
const MESSAGES: Readonly<Record<string, string>> = {
  invalid_client:
    'The application that sent you here is not registered. Contact the provider of the application.',
  invalid_redirect_uri:
    'The application that sent you here uses a redirect URI that is not registered for it. Nothing was sent there. Contact the provider of the application.',
};
const OTHERWISE = 'Go back to the application and start again.';

export interface LibraryCall {
  readonly admitted: AdmittedRequest;
  errorCodes: readonly string[];
}

/** These errors must not be sent to the application, because that would be an open redirect. */
export function createErrorRenderer(
  callOf: (incoming: IncomingMessage) => LibraryCall | undefined,
  log: Logger,
): NonNullable<Configuration['renderError']> {
  return (ctx, out, error) => {
    const call = callOf(ctx.req);
    if (call === undefined) throw error;
    const { requestId } = call.admitted;
    ctx.set(pageHeaders());
    if (!('expose' in error) || error.expose !== true) {
      const { status, headers, description, errorCodes } = toOAuthError(error, call.admitted, log);
      call.errorCodes = errorCodes;
      ctx.status = status;
      ctx.set({ ...headers });
      ctx.body = errorPage({ title: 'Something went wrong', message: description, requestId });
      return;
    }
    call.errorCodes = [out.error];
    const detail = [out.error, out.error_description].filter((part) => part !== undefined).join(': ');
    const message = MESSAGES[out.error] ?? OTHERWISE;
    ctx.body = errorPage({ title: 'Unable to continue', message, detail, requestId });
  };
}
