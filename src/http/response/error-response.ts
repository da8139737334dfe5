import { type MaskOptions, publicRefusal } from '../../graphql/mask-error.ts';
import { PlainResponse } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import { oauthErrorResponse, oauthRefusal } from '../oauth/oauth-error.ts';

/**
 * A refusal outside execution, in the format of all routes except OAuth's: `{"errors":[…]}` with the status
 * of the code.
 */
export function errorResponse(
  error: unknown,
  state: RequestState,
  log: MaskOptions['log'],
  contentType = 'application/json',
): PlainResponse {
  if (state.oauth) return oauthErrorResponse(oauthRefusal(error, state, log));
  const { entry, code, status, headers } = publicRefusal(error, { requestId: state.requestId, log });
  state.errorCodes = [code];
  return new PlainResponse(JSON.stringify({ errors: [entry] }), {
    status,
    headers: { 'content-type': `${contentType}; charset=utf-8`, ...headers },
  });
}

export function jsonResponse(
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): PlainResponse {
  return new PlainResponse(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  });
}
