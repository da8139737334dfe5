import { type MaskOptions, publicRefusal } from '../../graphql/mask-error.ts';
import { PlainResponse } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';

/** A refusal outside execution: `{"errors":[…]}` with the status of the code. */
export function errorResponse(error: unknown, state: RequestState, log: MaskOptions['log']): PlainResponse {
  const { entry, code, status, headers } = publicRefusal(error, { requestId: state.requestId, log });
  state.errorCodes = [code];
  return jsonResponse({ errors: [entry] }, status, headers);
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
