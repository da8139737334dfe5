import type { GraphQLError } from 'graphql';
import { publicError } from '../../graphql/mask-error.ts';
import { type CostCeilings, errorsOf, type Outcome, type Single, textOf } from '../../operation/outcome.ts';
import { statusOf } from '../../operation/response-status.ts';
import { type HttpResponse, PlainResponse, StreamResponse } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import { SSE_HEADERS, sseText } from './sse.ts';

/** Turns the outcome of an operation into a response of the media type that the client asked for. */
export type Responder = (outcome: Outcome, state: RequestState) => HttpResponse;

/** The headers that errors ask for. */
export function headersOf(errors: readonly GraphQLError[]): Record<string, string> {
  return Object.assign({}, ...errors.map((error) => publicError(error).headers));
}

export function createResponder(limits: CostCeilings): Responder {
  return (outcome, state) => {
    const { mediaType = 'application/json', cost } = state;
    const told = { cost, limits };
    const oneEvent = (single: Single, startId?: string) => {
      const id = startId;
      return new PlainResponse(sseText({ id, text: textOf(single, told) }, startId), {
        headers: SSE_HEADERS,
      });
    };
    if (outcome.kind === 'stream') return new StreamResponse(outcome.stream);
    if (outcome.kind === 'unresumable') return oneEvent(outcome.outcome, outcome.startId);
    const errors = errorsOf(outcome);
    if (errors.length > 0) state.errorCodes = errors.map((error) => publicError(error).code);
    const status = statusOf(outcome, mediaType);
    if (mediaType === 'text/event-stream' && status === 200) return oneEvent(outcome);
    const contentType = mediaType === 'text/event-stream' ? 'application/json' : mediaType;
    const headers: Record<string, string> = errors.length === 0 ? {} : headersOf(errors);
    headers['content-type'] = `${contentType}; charset=utf-8`;
    return new PlainResponse(textOf(outcome, told), { status, headers });
  };
}
