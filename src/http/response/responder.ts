import type { GraphQLError } from 'graphql';
import { type MaskOptions, publicError, toErrorResponse } from '../../engine/core/mask-error.ts';
import type { OperationRequest, StreamType } from '../../engine/documents/operation-request.ts';
import { type OperationResult, reportOf } from '../../engine/operation/operation-result.ts';
import {
  type CostCeilings,
  errorsOf,
  type ResponseExtras,
  type SingleResult,
  serializeResponse,
  statusOf,
} from '../../engine/operation/outcome.ts';
import type { ReceivedRequest } from '../exchange.ts';
import { HttpResponse, type HttpResponseOptions } from '../message.ts';
import { STREAM_FORMATS } from './event-stream-formats.ts';

export function jsonResponse(
  value: unknown,
  { headers, ...options }: HttpResponseOptions = {},
): HttpResponse {
  return new HttpResponse(JSON.stringify(value), {
    ...options,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  });
}

export function errorResponse(
  error: unknown,
  { requestId }: ReceivedRequest,
  log: MaskOptions['log'],
): HttpResponse {
  const { entry, code, status, headers } = toErrorResponse(error, { requestId, log });
  return jsonResponse({ errors: [entry] }, { status, headers, errorCodes: [code] });
}

export function headersOf(errors: readonly GraphQLError[]): Record<string, string> {
  return Object.assign({}, ...errors.map((error) => publicError(error).headers));
}

function extrasOf({ reached, effects }: OperationResult, limits: CostCeilings): ResponseExtras {
  return {
    limits,
    cost: reached !== undefined && 'shownCost' in reached ? reached.shownCost : undefined,
    eventId: effects?.eventId,
    deprecations:
      reached !== undefined && 'deprecated' in reached && reached.showsDeprecations
        ? reached.deprecated
        : undefined,
  };
}

export type Responder = (result: OperationResult, sender: OperationRequest) => HttpResponse;

export function createResponder(limits: CostCeilings): Responder {
  return (result, { mediaType: single, streamType }) => {
    const { outcome, effects } = result;
    const operation = reportOf(result);
    // A client that accepts only a stream gets a rejection in JSON.
    const mediaType = single ?? streamType ?? 'application/json';
    const extras = extrasOf(result, limits);
    const oneEvent = (type: StreamType, event: SingleResult, errorCodes: readonly string[], id?: string) => {
      const format = STREAM_FORMATS[type];
      const headers = { ...format.headers(id), ...effects?.headers };
      return new HttpResponse(format.whole(serializeResponse(event, extras), id), {
        headers,
        errorCodes,
        operation,
      });
    };
    if (outcome.kind === 'stream')
      return new HttpResponse(outcome.stream, { headers: outcome.stream.headers, operation });
    if (outcome.kind === 'unresumable')
      return oneEvent(streamType ?? 'text/event-stream', outcome.outcome, [], outcome.startId);
    const errors = errorsOf(outcome);
    const errorCodes = errors.map((error) => publicError(error).code);
    const status = statusOf(outcome, mediaType);
    if (mediaType === 'text/event-stream' && status === 200) return oneEvent(mediaType, outcome, errorCodes);
    const contentType = mediaType === 'application/graphql-response+json' ? mediaType : 'application/json';
    const headers: Record<string, string> = errors.length === 0 ? {} : headersOf(errors);
    headers['content-type'] = `${contentType}; charset=utf-8`;
    for (const name in effects?.headers) headers[name] = effects.headers[name] as string;
    return new HttpResponse(serializeResponse(outcome, extras), { status, headers, errorCodes, operation });
  };
}
