import { type ExecutionResult, GraphQLError } from 'graphql';
import { ApiError, type ErrorCode } from '../../graphql/errors.ts';
import { executed, type Outcome, refused } from '../../operation/outcome.ts';
import type { Logger } from '../../platform/log.ts';
import type { EventStream } from '../../request/event-stream.ts';
import { asResponse } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { Responder } from '../response/responder.ts';

/** What Yoga and its plugins take for the result of an operation. */
export type YogaResult = ExecutionResult | AsyncIterable<ExecutionResult>;

/** Yoga's type has several at once, which no request of ours can ask for. */
type Processed = YogaResult | readonly ExecutionResult[];

interface Made {
  readonly outcome: Outcome;
  readonly members: ExecutionResult;
}

const CODES: Readonly<Record<number, ErrorCode>> = {
  200: 'BAD_USER_INPUT',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  429: 'RATE_LIMITED',
  503: 'SERVICE_UNAVAILABLE',
  504: 'TIMEOUT',
};

/** Status and headers that a plugin's error asks for, as Yoga reads them. */
interface HttpExtension {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error that a plugin throws to refuse a request names its status in `extensions.http`. Ours have none. */
function named(error: GraphQLError): GraphQLError {
  // A plugin may have made it without the class.
  if (!(error instanceof GraphQLError) || error.originalError !== undefined) return error;
  const http = error.extensions.http as HttpExtension | undefined;
  const { status, headers = {} } = http ?? {};
  if (status === undefined) return error;
  const code = CODES[status] ?? (status >= 500 ? 'INTERNAL_SERVER_ERROR' : 'BAD_REQUEST');
  return new GraphQLError(error.message, {
    originalError: new ApiError(code, error.message, { status, headers }),
  });
}

function membersOf(outcome: Exclude<Outcome, { kind: 'stream' }>): ExecutionResult {
  if (outcome.kind === 'executed') return outcome.result;
  if (outcome.kind === 'refused') return { errors: outcome.errors };
  if (outcome.kind === 'unresumable') return { errors: outcome.outcome.errors };
  const { errors } = outcome;
  const members = JSON.parse(outcome.body) as ExecutionResult;
  return errors.length === 0 ? members : { ...members, errors };
}

/** Events go to their readers by the group, in no request's own time. */
const EVENTS: AsyncIterable<ExecutionResult> = {
  [Symbol.asyncIterator]: () => ({
    next: () => Promise.reject(new Error('Events do not pass the plugins of Yoga (docs/plugins.md).')),
  }),
};

const isSame = (one: ExecutionResult, other: ExecutionResult) =>
  one.data === other.data && one.errors === other.errors && one.extensions === other.extensions;

/**
 * The results of operations as Yoga's plugins see them. What they leave as it is becomes the response that the fast
 * path gives. `read` is whether a plugin looks at them: a text from the database is parsed for it.
 */
export function createResults(respond: Responder, log: Logger, read: boolean) {
  const made = new WeakMap<object, Made>();
  /** Those that have begun. */
  const streams = new WeakMap<RequestState, EventStream>();

  function outcomeOf(result: Processed, { requestId }: RequestState): Outcome {
    const masking = { requestId, log };
    const known = made.get(result);
    if (Symbol.asyncIterator in result || Symbol.iterator in result)
      return known?.outcome ?? refused(new Error('A plugin gave several results.'), masking);
    if (known !== undefined && isSame(result, known.members)) return known.outcome;
    const { errors, ...rest } = result;
    return executed(errors === undefined ? rest : { ...rest, errors: errors.map(named) }, masking);
  }

  /** Ends a stream that a plugin has kept from its client. */
  function discard(state: RequestState): void {
    streams.get(state)?.close();
    streams.delete(state);
  }

  return {
    /** The result of an outcome. */
    of(outcome: Outcome, state: RequestState): YogaResult {
      if (outcome.kind === 'stream') streams.set(state, outcome.stream);
      const members = outcome.kind === 'stream' || !read ? {} : membersOf(outcome);
      const result = outcome.kind === 'stream' ? { ...EVENTS } : { ...members };
      made.set(result, { outcome, members });
      return result;
    },
    respond(result: Processed, state: RequestState): Response {
      const outcome = outcomeOf(result, state);
      if (outcome.kind !== 'stream') discard(state);
      return asResponse(respond(outcome, state));
    },
    discard,
  };
}
