import { type ExecutionResult, GraphQLError } from 'graphql';
import { createYoga, type GraphQLParams, type Plugin } from 'graphql-yoga';
import { ApiError, type ErrorCode } from '../../graphql/errors.ts';
import { executed, type Outcome, refused } from '../../operation/outcome.ts';
import type { Logger } from '../../platform/log.ts';
import { OperatorError } from '../../platform/operator-error.ts';
import type { EventStream } from '../../request/event-stream.ts';
import type { HttpRequest, HttpResponse, RequestUrl } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { Responder } from '../response/responder.ts';
import type { Pipeline } from './pipeline.ts';

/** A plugin of Yoga's ecosystem. Of its hooks, those of HTTP run (docs/plugins.md). */
export type YogaPlugin = Plugin;

/**
 * Every hook there is, and whether it runs. Those of execution do not: the operation pipeline does what they are called
 * around.
 */
const RUNS: Readonly<Record<Extract<keyof YogaPlugin, string>, boolean>> = {
  onYogaInit: true,
  onRequest: true,
  onRequestParse: true,
  onParams: true,
  onResultProcess: true,
  onResponse: true,
  onDispose: true,
  onSchemaChange: false,
  onPluginInit: false,
  onEnveloped: false,
  onParse: false,
  onValidate: false,
  onContextBuilding: false,
  onExecute: false,
  onSubscribe: false,
  onExecutionResult: false,
  instrumentation: false,
};

/** Throws OperatorError for a plugin that would not do all of its work. */
export function requireHttpHooks(plugins: readonly YogaPlugin[]): void {
  for (const [index, plugin] of plugins.entries())
    for (const [name, runs] of Object.entries(RUNS))
      if (!runs && Reflect.get(plugin, name) !== undefined)
        throw new OperatorError(
          `Plugin ${index + 1} of src/yoga-plugins.ts has "${name}", which would never run: what concerns execution belongs in a resolver or in a Pothos plugin (src/graphql/builder.ts). See docs/plugins.md.`,
        );
}

/** What Yoga and its plugins take for the result of an operation. */
type YogaResult = ExecutionResult | AsyncIterable<ExecutionResult>;

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
function createResults(respond: Responder, log: Logger, read: boolean) {
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
      return respond(outcome, state).toResponse();
    },
    discard,
  };
}

/** What Yoga carries along with a request. */
interface Travelling {
  readonly state: RequestState;
  readonly url: RequestUrl;
}

/** Our own, which know what Yoga carries along. */
type OwnPlugin = Plugin<object, Travelling>;

type Step<T> = (request: HttpRequest, state: RequestState, url: RequestUrl) => Promise<T>;

interface YogaOptions {
  /** The steps before an answer, and the answer of them if there is one. Rejects with a refusal. */
  readonly admit: Step<HttpResponse | undefined>;
  /** The answer of the request's route. Rejects with a refusal. */
  readonly answer: Step<HttpResponse>;
  readonly refuse: (error: unknown, state: RequestState) => HttpResponse;
  readonly pipeline: Pipeline;
  /** Where the pipeline answers. */
  readonly path: string;
  readonly plugins: readonly YogaPlugin[];
  readonly log: Logger;
}

/** Passes Yoga's own check of the members, which comes last and knows less than ours. */
const CHECKED_ALREADY: GraphQLParams = { query: '{ __typename }' };

/**
 * Yoga's HTTP handling around our own steps, for the plugins of its ecosystem and for requests that the fast path does
 * not take. The hooks of plugins run after our checks and before our headers. Yoga executes nothing: the pipeline does.
 */
export function createYogaServer(options: YogaOptions) {
  const { admit, answer, refuse, pipeline, path, plugins, log } = options;
  const results = createResults(
    pipeline.respond,
    log,
    plugins.some(({ onResultProcess }) => onResultProcess !== undefined),
  );

  /** Ends the request with what a step answers, if it does. */
  const step =
    (take: Step<HttpResponse | undefined>): NonNullable<OwnPlugin['onRequest']> =>
    async ({ request, serverContext: { state, url }, endResponse }) => {
      const response = await take(request, state, url).catch((error: unknown) => refuse(error, state));
      if (response !== undefined) endResponse(response.toResponse());
    };

  const first: OwnPlugin = {
    onRequest: step(admit),
    // Plugins may put others in place of these.
    onRequestParse({ serverContext: { state, url }, setRequestParser }) {
      setRequestParser((request) => pipeline.parse(request, url, state));
    },
    onResultProcess({ serverContext: { state }, setResultProcessor }) {
      setResultProcessor((result) => results.respond(result, state), '*/*');
    },
  };
  const last: OwnPlugin = {
    // Yoga goes on to the hooks for GraphQL where nothing has answered.
    onRequest: step(async (request, state, url) =>
      state.route.answer === pipeline.answer ? undefined : answer(request, state, url),
    ),
    onParams({ params, request, context: { state }, setParams, setParamsHandler }) {
      setParams(CHECKED_ALREADY);
      setParamsHandler(async () => results.of(await pipeline.execute(params, request, state), state));
    },
  };
  const yoga = createYoga<Travelling, object>({
    logging: false,
    graphiql: false,
    landingPage: false,
    graphqlEndpoint: path,
    // Yoga answers every URL with this suffix. The check cannot be disabled, so use a suffix that no request
    // line can contain.
    healthCheckEndpoint: '\n',
    cors: false,
    // The pipeline has limits and caches of its own, and masks errors.
    maskedErrors: false,
    maxRequestBodySize: false,
    parserAndValidationCache: false,
    plugins: [first, ...plugins, last],
  });
  return {
    /** Never rejects. */
    async handle(request: Request, travelling: Travelling): Promise<Response> {
      try {
        return await yoga.handleRequest(request, travelling);
      } catch (error) {
        // Thrown by a hook of a plugin that nothing in Yoga catches.
        const { state } = travelling;
        results.discard(state);
        return refuse(error, state).toResponse();
      }
    },
    close: async () => yoga.dispose(),
  };
}
