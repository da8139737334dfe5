import type { GraphQLSchema } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { Logger } from '../../platform/log/log.ts';
import type { ReceivedRequest } from '../exchange.ts';
import type { ServicePlugin } from '../lifecycle.ts';
import { HttpResponse } from '../message.ts';
import { hostedOf, type YogaServerContext } from './hosted-operations.ts';
import { NOTHING_KNOWN, type Served, useEngine } from './use-engine.ts';

/**
 * Plugins are made for Yoga or Envelop (docs/contributing/yoga-plugins.md). Envelop's types do not fit Yoga's type, which takes any
 * object.
 */
export type YogaPlugin = Plugin | object;

export interface YogaOptions {
  readonly schema: GraphQLSchema;
  readonly served: Served;
  /** The steps of `served` have the stages of these plugins. */
  readonly own: readonly ServicePlugin[];
  readonly plugins: readonly YogaPlugin[];
  readonly log: Logger;
}

/**
 * Yoga hosts the service's steps for plugins of Yoga and for requests that the fast path does not take. HTTP hooks
 * run after the service's checks and before its headers. Execution hooks run around the engine's steps.
 */
export function createYogaServer(options: YogaOptions) {
  const { schema, served, own, plugins, log } = options;
  const yoga = createYoga<YogaServerContext, object>({
    logging: false,
    graphiql: false,
    landingPage: false,
    graphqlEndpoint: served.route.path,
    // Yoga responds to every URL with this suffix, and the check cannot be disabled. No request line can contain a
    // line feed.
    healthCheckEndpoint: '\n',
    cors: false,
    // The engine has separate limits and caches, and masks errors.
    maskedErrors: false,
    maxRequestBodySize: false,
    parserAndValidationCache: false,
    plugins: [useEngine({ schema, serve: () => served }), ...plugins, ...own],
  });
  function piecesOf(body: ReadableStream<Uint8Array>, { disconnectSignal }: ReceivedRequest) {
    const reader = body.getReader();
    const cancel = () => {
      reader.cancel().catch((error: unknown) => log.emit('plugins.stream_failed', { err: error }));
    };
    if (disconnectSignal?.disconnected) cancel();
    else disconnectSignal?.onDisconnect(cancel);
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
    /** The promise never rejects. */
    async handle(request: Request, serverContext: YogaServerContext): Promise<HttpResponse> {
      const { progress } = serverContext;
      try {
        const response = await yoga.handleRequest(request, serverContext);
        const about = serverContext.made.response ?? NOTHING_KNOWN;
        return await HttpResponse.from(response, (body) => piecesOf(body, progress), about);
      } catch (error) {
        // A plugin's hook has thrown the error, and nothing in Yoga catches it.
        served.results.discard(hostedOf(serverContext));
        return served.requests.reject(error, progress);
      }
    },
    close: async () => yoga.dispose(),
  };
}
