import type { GraphQLError } from 'graphql';
import { type MaskOptions, publicError, publicRefusal } from '../../engine/core/mask-error.ts';
import type { StreamType } from '../../engine/documents/operation-request.ts';
import {
  type CostCeilings,
  errorsOf,
  type Outcome,
  type Single,
  statusOf,
  textOf,
} from '../../engine/operation/outcome.ts';
import type { RequestState } from '../exchange.ts';
import { HttpResponse } from '../message.ts';
import { STREAM_FORMATS } from './event-stream-formats.ts';

export function jsonResponse(
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return new HttpResponse(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  });
}

/** A refusal outside execution: `{"errors":[…]}` with the status of the code. */
export function errorResponse(error: unknown, state: RequestState, log: MaskOptions['log']): HttpResponse {
  const { entry, code, status, headers } = publicRefusal(error, { requestId: state.requestId, log });
  state.errorCodes = [code];
  return jsonResponse({ errors: [entry] }, status, headers);
}

/** Turns the outcome of an operation into a response of the media type that the client asked for. */
export type Responder = (outcome: Outcome, state: RequestState) => HttpResponse;

/** The headers that errors ask for. */
export function headersOf(errors: readonly GraphQLError[]): Record<string, string> {
  return Object.assign({}, ...errors.map((error) => publicError(error).headers));
}

export function createResponder(limits: CostCeilings): Responder {
  return (outcome, state) => {
    const { streamType = 'text/event-stream', cost, eventId, deprecated, showsDeprecations } = state;
    // A client that accepts nothing but a stream is refused in JSON.
    const mediaType = state.mediaType ?? state.streamType ?? 'application/json';
    const told = { cost, limits, eventId, deprecations: showsDeprecations ? deprecated : undefined };
    const oneEvent = (type: StreamType, single: Single, id?: string) => {
      const format = STREAM_FORMATS[type];
      return new HttpResponse(format.whole(textOf(single, told), id), { headers: format.headers(id) });
    };
    if (outcome.kind === 'stream')
      return new HttpResponse(outcome.stream, { headers: outcome.stream.headers });
    if (outcome.kind === 'unresumable') return oneEvent(streamType, outcome.outcome, outcome.startId);
    const errors = errorsOf(outcome);
    if (errors.length > 0) state.errorCodes = errors.map((error) => publicError(error).code);
    const status = statusOf(outcome, mediaType);
    if (mediaType === 'text/event-stream' && status === 200) return oneEvent(mediaType, outcome);
    const contentType = mediaType === 'application/graphql-response+json' ? mediaType : 'application/json';
    const headers: Record<string, string> = errors.length === 0 ? {} : headersOf(errors);
    headers['content-type'] = `${contentType}; charset=utf-8`;
    return new HttpResponse(textOf(outcome, told), { status, headers });
  };
}
