import { type MaskOptions, publicRefusal } from '../../graphql/mask-error.ts';
import type { PlainResponse } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import { jsonResponse } from './json-response.ts';

/** A refusal outside execution: `{"errors":[…]}` with the status of the code. */
export function errorResponse(error: unknown, state: RequestState, log: MaskOptions['log']): PlainResponse {
  const { entry, code, status, headers } = publicRefusal(error, { requestId: state.requestId, log });
  state.errorCodes = [code];
  return jsonResponse({ errors: [entry] }, status, headers);
}
