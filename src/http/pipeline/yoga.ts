import type { GraphQLSchema } from 'graphql';
import { createYoga, type Plugin, type YogaServerInstance } from 'graphql-yoga';
import type { Outcome } from '../../operation/outcome.ts';
import { asResponse } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';
import { corsFor } from '../response/use-cors.ts';
import type { Pipeline } from './pipeline.ts';

/** What travels with a request through Yoga beside the request itself. */
interface Travelling {
  readonly state: RequestState;
  /** What the operation came to, once it has run. */
  outcome?: Outcome;
}

type YogaPlugin = Plugin<object, Travelling>;

/** The plugin as Yoga takes one: it knows responses of the Fetch API alone. */
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
 * Has Yoga take the steps of the pipeline in place of its own: parse, validate, execute and render. An outcome goes
 * round Yoga, which knows results of graphql-js alone; a request that Yoga itself refuses has none.
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
  /** Origins whose pages may read answers. */
  readonly corsOrigins: readonly string[];
}

/** Yoga's HTTP handling around the pipeline: whatever is no plain request of the fast path. */
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
    // Yoga answers any address that ends so, and can only be told another end: no request line holds this one.
    healthCheckEndpoint: '\n',
    cors: corsFor(corsOrigins),
    plugins: [...plugins.map(forYoga), usePipeline(pipeline)],
  });
}
