import type { ErrorCode } from '../../graphql/errors.ts';
import { type MaskOptions, publicRefusal } from '../../graphql/mask-error.ts';
import { jsonResponse } from '../../http/response/json-response.ts';
import type { PlainResponse } from '../../request/http-message.ts';
import type { RequestState, Route } from '../../request/request-state.ts';

/** Maps the service's codes to OAuth errors (RFC 6749 sections 4.1.2.1 and 5.2). */
const OAUTH_CODES: Partial<Record<ErrorCode, string>> = {
  UNAUTHENTICATED: 'invalid_client',
  RATE_LIMITED: 'temporarily_unavailable',
  SERVICE_UNAVAILABLE: 'temporarily_unavailable',
  TIMEOUT: 'temporarily_unavailable',
  INTERNAL_SERVER_ERROR: 'server_error',
};

export interface OAuthRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: string;
  readonly description: string;
}

/** An error in OAuth's terms. Internal errors are logged in full and hidden from the client. */
export function oauthRefusal(error: unknown, state: RequestState, log: MaskOptions['log']): OAuthRefusal {
  const { code, status, headers, message } = publicRefusal(error, { requestId: state.requestId, log });
  state.errorCodes = [code];
  // RFC 6749 section 5.2: ASCII only, no quotes or backslashes.
  const description = message.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?');
  return { status, headers, error: OAUTH_CODES[code] ?? 'invalid_request', description };
}

/** The JSON response of RFC 6749. */
export function oauthErrorResponse({ status, headers, error, description }: OAuthRefusal): PlainResponse {
  return jsonResponse({ error, error_description: description }, status, headers);
}

/** The form of refusals of endpoints that programs call. */
export const oauthErrors: Route['errors'] = (error, state, log) =>
  oauthErrorResponse(oauthRefusal(error, state, log));
