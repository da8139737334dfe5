import type { GraphQLSchema } from 'graphql';
import { createYoga, type GraphQLParams, type Plugin } from 'graphql-yoga';
import type { CostCeilings } from '../../engine/operation/outcome.ts';
import type { Logger } from '../../platform/log/log.ts';
import type { RequestState, Route } from '../exchange.ts';
import type { Pipeline } from '../graphql.ts';
import { type HttpRequest, HttpResponse, type RequestUrl } from '../message.ts';
import { createEngine, type OwnPlugin, type Travelling } from './use-engine.ts';
import { createResults } from './yoga-result.ts';

/** A plugin of Yoga's or Envelop's ecosystem (docs/plugins.md). Envelop's types do not fit Yoga's, which takes any object. */
export type YogaPlugin = Plugin | object;

type Step<T> = (request: HttpRequest, state: RequestState, url: RequestUrl) => Promise<T>;

export interface YogaOptions {
  /** The steps before an answer, and the answer of them if there is one. Rejects with a refusal. */
  readonly admit: Step<HttpResponse | undefined>;
  /** The answer of the request's route. Rejects with a refusal. */
  readonly answer: Step<HttpResponse>;
  readonly refuse: (error: unknown, state: RequestState) => HttpResponse;
  readonly pipeline: Pipeline;
  readonly schema: GraphQLSchema;
  readonly limits: CostCeilings;
  /** The route of the pipeline. */
  readonly route: Route;
  readonly plugins: readonly YogaPlugin[];
  readonly log: Logger;
}

/** Passes Yoga's own check of the members, which comes last and knows less than ours. */
const CHECKED_ALREADY: GraphQLParams = { query: '{ __typename }' };

/**
 * Yoga as the host of the service's own steps, for the plugins of its ecosystem and for requests that the fast path does not
 * take. Hooks of HTTP run after the checks of the service and before its headers, hooks of execution around the engine's steps.
 */
export function createYogaServer(options: YogaOptions) {
  const { admit, answer, refuse, pipeline, schema, limits, route, plugins, log } = options;
  const results = createResults(pipeline.respond, log, limits);
  const engine = createEngine({ schema, stages: pipeline.stages, results, admit, route });

  /** Ends the request with the response of a step, if the step returns one. */
  const step =
    (
      take: (request: HttpRequest, travelling: Travelling) => Promise<HttpResponse | undefined>,
    ): NonNullable<OwnPlugin['onRequest']> =>
    async ({ request, serverContext, endResponse }) => {
      const response = await take(request, serverContext).catch((error: unknown) =>
        refuse(error, serverContext.state),
      );
      if (response !== undefined) endResponse(response.toResponse());
    };

  const first: OwnPlugin = {
    onRequest: step((_request, { arrived, state, url }) => admit(arrived, state, url)),
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
    onRequest: step(async (request, { state, url }) =>
      state.route.answer === pipeline.answer ? undefined : answer(request, state, url),
    ),
    onParams({ params, setParams, setParamsHandler }) {
      setParams(CHECKED_ALREADY);
      // Yoga's own handler wraps every stream, which hides whether a plugin reads the events.
      setParamsHandler(({ request, context }) =>
        engine.run(params, Object.assign(context, { request }), yoga.getEnveloped),
      );
    },
  };
  const yoga = createYoga<Travelling, object>({
    logging: false,
    graphiql: false,
    landingPage: false,
    graphqlEndpoint: route.path,
    // Yoga answers every URL with this suffix. The check cannot be disabled, so use a suffix that no request
    // line can contain.
    healthCheckEndpoint: '\n',
    cors: false,
    // The engine has its own limits and caches, and masks errors.
    maskedErrors: false,
    maxRequestBodySize: false,
    parserAndValidationCache: false,
    plugins: [engine.plugin, first, ...plugins, last],
  });
  /** The pieces of an event stream that a plugin carries, until its client leaves. */
  function piecesOf(body: ReadableStream<Uint8Array>, { departure }: RequestState) {
    const reader = body.getReader();
    const cancel = () => {
      reader
        .cancel()
        .catch((error: unknown) => log.error({ err: error }, 'a plugin failed on an event stream'));
    };
    if (departure?.left) cancel();
    else departure?.onLeave(cancel);
    const pieces = (async function* () {
      for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
    })();
    const end = pieces.return.bind(pieces);
    // A generator cannot return while it waits for its next piece.
    return Object.assign(pieces, {
      return() {
        cancel();
        return end();
      },
    });
  }

  return {
    /** Never rejects. */
    async handle(request: Request, travelling: Travelling): Promise<HttpResponse> {
      const { state } = travelling;
      try {
        const response = await yoga.handleRequest(request, travelling);
        return await HttpResponse.from(response, (body) => piecesOf(body, state));
      } catch (error) {
        // Thrown by a hook of a plugin that nothing in Yoga catches.
        results.discard(state);
        return refuse(error, state);
      }
    },
    close: async () => yoga.dispose(),
  };
}
