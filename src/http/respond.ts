import type { ExecutionResult, GraphQLError } from 'graphql';
import { maskError, publicError } from '../graphql/mask-error.ts';
import type { Logger } from '../platform/log.ts';
import { negotiate } from './accept.ts';
import { type HttpPlugin, holderOf, type RequestState } from './request-state.ts';
import { type CostCeilings, statusOf, stringifyResult, withCost } from './result.ts';
import { eventStream } from './sse.ts';

export interface ResponseOptions {
  readonly log: Logger;
  readonly limits: CostCeilings;
}

function isStream(
  result: ExecutionResult | AsyncIterable<ExecutionResult>,
): result is AsyncIterable<ExecutionResult> {
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

/** What makes a response out of its text. */
type ResponseClass<R> = new (text: string, init: { status: number; headers: Record<string, string> }) => R;

/** Makes the response to a request out of the result of its operation. */
export type Responder = <R>(
  result: ExecutionResult | AsyncIterable<ExecutionResult>,
  request: Pick<Request, 'headers'>,
  state: RequestState,
  Response: ResponseClass<R>,
) => R | globalThis.Response;

/** Turns results into responses, in the media type that the client asked for. */
export function createResponder({ log, limits }: ResponseOptions): Responder {
  return (given, request, state, Response) => {
    const mediaType = negotiate(request.headers.get('accept')) ?? 'application/json';
    const stream = (results: AsyncIterable<ExecutionResult>) => {
      const { eventStart, stop, hold } = state;
      hold.countFor(holderOf(state));
      const toText = (result: ExecutionResult) => stringifyResult(withCost(result, state, limits));
      return eventStream(results, { stop, startId: eventStart?.eventId, toText });
    };
    if (isStream(given)) return stream(given);
    const result = withCost(masked(given, state, log), state, limits);
    const status = statusOf(result, mediaType);
    if (mediaType === 'text/event-stream' && status === 200) return stream(once(result));
    const contentType = mediaType === 'text/event-stream' ? 'application/json' : mediaType;
    const headers: Record<string, string> = result.errors === undefined ? {} : headersOf(result.errors);
    headers['content-type'] = `${contentType}; charset=utf-8`;
    return new Response(stringifyResult(result), { status, headers });
  };
}

/** Has Yoga answer with the responder, whatever it would answer with itself. */
export function useResponse(respond: Responder): HttpPlugin {
  return {
    onResultProcess({ request, serverContext: { state }, setResultProcessor }) {
      setResultProcessor(
        (result, { Response }) =>
          respond(result as ExecutionResult | AsyncIterable<ExecutionResult>, request, state, Response),
        'application/json',
      );
    },
  };
}
