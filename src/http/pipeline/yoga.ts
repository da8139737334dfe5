import type { GraphQLSchema } from 'graphql';
import { createYoga, type Plugin, type YogaServerInstance } from 'graphql-yoga';
import type { Outcome } from '../../operation/outcome.ts';
import { asResponse } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';
import { corsFor } from '../response/use-cors.ts';
import type { Pipeline } from './pipeline.ts';

/** What Yoga carries along with a request. */
interface Travelling {
  readonly state: RequestState;
  /** The result of the operation, once it has run. */
  outcome?: Outcome;
}

type YogaPlugin = Plugin<object, Travelling>;

/** Adapts a plugin to Yoga, which only knows Fetch API responses. */
function forYoga({ onRequest, onResponse }: HttpPlugin): YogaPlugin {
  return {
    ...(onRequest === undefined
      ? {}
      : {
          onRequest: ({ request, url, serverContext: { state }, endResponse }) =>
            onRequest({ request, url, state, endResponse: (response) => endResponse(asResponse(response)) }),
        }),
    ...(onResponse === undefined
      ? {}
      : {
          onResponse({ request, response, serverContext: { state } }) {
            onResponse({ request, response, state });
          },
        }),
  };
}

/**
 * Replaces Yoga's parse, validate, execute and render steps with the pipeline. The outcome bypasses Yoga,
 * which only knows graphql-js results. A request that Yoga itself refuses has no outcome.
 */
function usePipeline(pipeline: Pipeline): YogaPlugin {
  return {
    onRequestParse({ request, url, serverContext: { state }, setRequestParser }) {
      setRequestParser(() => pipeline.read(request, url, state));
    },
    onParams({ setParamsHandler }) {
      setParamsHandler(async ({ params, request, context }) => {
        context.outcome = await pipeline.run(params, request, context.state);
        return {};
      });
    },
    onResultProcess({ serverContext, setResultProcessor }) {
      setResultProcessor((result) => {
        const { state, outcome } = serverContext;
        const [error] = 'errors' in result && result.errors !== undefined ? result.errors : [];
        return asResponse(pipeline.respond(outcome ?? pipeline.refuse(error, state), state));
      }, 'application/json');
    },
  };
}

export interface YogaOptions {
  readonly schema: GraphQLSchema;
  readonly endpoint: string;
  readonly plugins: readonly HttpPlugin[];
  readonly pipeline: Pipeline;
  /** Origins whose pages may read responses. */
  readonly corsOrigins: readonly string[];
}

/** Yoga's HTTP handling around the pipeline, for requests that the fast path does not handle. */
export function createYogaServer({
  schema,
  endpoint,
  plugins,
  pipeline,
  corsOrigins,
}: YogaOptions): YogaServerInstance<Travelling, object> {
  return createYoga<Travelling, object>({
    schema,
    graphqlEndpoint: endpoint,
    logging: false,
    maskedErrors: false,
    graphiql: false,
    landingPage: false,
    multipart: false,
    maxRequestBodySize: false,
    parserAndValidationCache: false,
    // Yoga answers every URL with this suffix. The check cannot be disabled, so use a suffix that no request
    // line can contain.
    healthCheckEndpoint: '\n',
    cors: corsFor(corsOrigins),
    plugins: [...plugins.map(forYoga), usePipeline(pipeline)],
  });
}
