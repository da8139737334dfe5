import type { GraphQLError } from 'graphql';
import { type MaskOptions, maskError, publicError } from '../graphql/mask-error.ts';
import { oauthErrorResponse, oauthRefusal } from './oauth/oauth-error.ts';
import type { RequestState } from './request-state.ts';

/** A refusal outside an execution, in the shape of all routes but OAuth's: `{"errors":[…]}` and the status of the code. */
export function errorResponse(
  error: unknown,
  state: RequestState,
  log: MaskOptions['log'],
  contentType = 'application/json',
): Response {
  if (state.oauth) return oauthErrorResponse(oauthRefusal(error, state, log));
  const masked: GraphQLError = maskError(error, { requestId: state.requestId, log });
  const { code, status, headers } = publicError(masked);
  state.errorCodes = [code];
  return new Response(JSON.stringify({ errors: [masked] }), {
    status,
    headers: { 'content-type': `${contentType}; charset=utf-8`, ...headers },
  });
}

export function jsonResponse(
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  });
}
