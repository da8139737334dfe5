import type { ExecutionResult, GraphQLError } from 'graphql';
import { maskError, publicError } from '../graphql/mask-error.ts';
import type { Logger } from '../platform/log.ts';
import { negotiate } from './accept.ts';
import type { HttpPlugin, RequestState } from './request-state.ts';
import { type CostCeilings, statusOf, stringifyResult, withCost } from './result.ts';
import { eventStream } from './sse.ts';

export interface ResponseOptions {
  readonly log: Logger;
  /** Aborts when the service goes down: streams then end so that clients come back. */
  readonly shutdown: AbortSignal;
  readonly limits: CostCeilings;
}

function isStream(result: object): result is AsyncIterable<ExecutionResult> {
  return Symbol.asyncIterator in result;
}

async function* once(result: ExecutionResult): AsyncGenerator<ExecutionResult> {
  yield result;
}

function headersOf(errors: readonly GraphQLError[]): Record<string, string> {
  return Object.assign({}, ...errors.map((error) => publicError(error).headers));
}

function masked(result: ExecutionResult, state: RequestState, log: Logger): ExecutionResult {
  if (result.errors === undefined) return result;
  const { errors } = result;
  const publicErrors = errors.map((error) => maskError(error, { requestId: state.requestId, log }));
  state.errorCodes = publicErrors.map((error) => publicError(error).code);
  // A result that is masked already stays the same object: its response may be settled.
  return publicErrors.every((error, index) => error === errors[index])
    ? result
    : { ...result, errors: publicErrors };
}

/** Turns the result of an operation into the response, in the media type that the client asked for. */
export function useResponse({ log, shutdown, limits }: ResponseOptions): HttpPlugin {
  return {
    onResultProcess({ request, serverContext, setResultProcessor }) {
      const { state } = serverContext;
      const mediaType = negotiate(request.headers.get('accept')) ?? 'application/json';
      setResultProcessor((given, { Response }) => {
        const { eventStart } = state;
        const startId = eventStart?.eventId(eventStart.position);
        const streamOptions = { log, shutdown, stop: state.stop, startId };
        const streamed: object = given;
        if (isStream(streamed)) return eventStream(streamed, streamOptions);
        const answer = masked(given as ExecutionResult, state, log);
        const result = withCost(answer, state, limits);
        const status = statusOf(result, mediaType);
        if (mediaType === 'text/event-stream' && status === 200)
          return eventStream(once(result), streamOptions);
        const contentType = mediaType === 'text/event-stream' ? 'application/json' : mediaType;
        return new Response(stringifyResult(result), {
          status,
          headers: { ...headersOf(result.errors ?? []), 'content-type': `${contentType}; charset=utf-8` },
        });
      }, mediaType);
    },
  };
}
