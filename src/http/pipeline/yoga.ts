import { createYoga, type GraphQLParams, type Plugin } from 'graphql-yoga';
import type { Logger } from '../../platform/log.ts';
import {
  asResponse,
  type HttpRequest,
  type HttpResponse,
  type RequestUrl,
} from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { Pipeline } from './pipeline.ts';
import type { YogaPlugin } from './yoga-plugin.ts';
import { createResults } from './yoga-result.ts';

/** What Yoga carries along with a request. */
export interface Travelling {
  readonly state: RequestState;
  readonly url: RequestUrl;
}

/** Our own, which know what Yoga carries along. */
type OwnPlugin = Plugin<object, Travelling>;

type Step<T> = (request: HttpRequest, state: RequestState, url: RequestUrl) => Promise<T>;

export interface YogaOptions {
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

/** Yoga's HTTP handling. */
export interface YogaServer {
  /** Never rejects. */
  handle(request: Request, travelling: Travelling): Promise<Response>;
  close(): Promise<void>;
}

/** Passes Yoga's own check of the members, which comes last and knows less than ours. */
const CHECKED_ALREADY: GraphQLParams = { query: '{ __typename }' };

/**
 * Yoga's HTTP handling around our own steps, for the plugins of its ecosystem and for requests that the fast path does
 * not take. The hooks of plugins run after our checks and before our headers. Yoga executes nothing: the pipeline does.
 */
export function createYogaServer(options: YogaOptions): YogaServer {
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
      if (response !== undefined) endResponse(asResponse(response));
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
    async handle(request, travelling) {
      try {
        return await yoga.handleRequest(request, travelling);
      } catch (error) {
        // Thrown by a hook of a plugin that nothing in Yoga catches.
        const { state } = travelling;
        results.discard(state);
        return asResponse(refuse(error, state));
      }
    },
    close: async () => yoga.dispose(),
  };
}
