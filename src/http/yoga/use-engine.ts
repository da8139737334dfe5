import type { IncomingMessage } from 'node:http';
import type { GraphQLSchema } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import { isObject } from '../body.ts';
import { createDisconnectSignal, type FinishedRequest, type Route } from '../exchange.ts';
import type { Pipeline } from '../graphql.ts';
import type { SentParams } from '../graphql-params.ts';
import { beginProgress, type RequestProgress, type ServicePlugin } from '../lifecycle.ts';
import type { HttpRequest, HttpResponse } from '../message.ts';
import type { RequestSteps } from '../request-steps.ts';
import {
  createHostedOperations,
  type Envelop,
  hostContext,
  hostedOf,
  type OwnPlugin,
  type YogaServerContext,
} from './hosted-operations.ts';
import type { Results } from './yoga-result.ts';

export interface Served {
  readonly pipeline: Pipeline;
  readonly requests: RequestSteps;
  readonly route: Route;
  readonly results: Results;
}

export interface UseEngineOptions {
  readonly schema: GraphQLSchema;
  readonly serve: (plugins: readonly ServicePlugin[]) => Served;
}

/** Yoga's check of the members comes last and is less strict than `steps.check`, so it gets a valid query. */
const CHECKED_ALREADY: GraphQLParams = { query: '{ __typename }' };

export const NOTHING_KNOWN: Pick<FinishedRequest, 'errorCodes' | 'operation'> = {
  errorCodes: [],
  operation: undefined,
};

const isServicePlugin = (plugin: unknown): plugin is ServicePlugin =>
  isObject(plugin) && 'stages' in plugin && 'name' in plugin;

function createHooks(schema: GraphQLSchema, { pipeline, requests, route, results }: Served) {
  const { admit, handle, reject } = requests;
  const operations = createHostedOperations({ schema, steps: pipeline.steps, results, admit, route });
  let envelop: Envelop | undefined;
  let endpoint: string = route.path;
  /** A plain Yoga server, without the service's handler, received these requests. */
  const own = new WeakSet<RequestProgress>();

  const step =
    (
      take: (request: HttpRequest, serverContext: YogaServerContext) => Promise<HttpResponse | undefined>,
    ): NonNullable<OwnPlugin['onRequest']> =>
    async ({ request, serverContext, endResponse }) => {
      if (serverContext.progress === undefined) return;
      const response = await take(request, serverContext).catch((error: unknown) =>
        reject(error, serverContext.progress),
      );
      if (response === undefined) return;
      serverContext.made.response = response;
      endResponse(response.toResponse());
    };

  function receiveFromYoga(
    request: Request,
    context: YogaServerContext & { readonly req?: IncomingMessage },
  ): void {
    const url = new URL(request.url);
    if (context.progress !== undefined || url.pathname !== endpoint) return;
    const peerAddress = context.req?.socket.remoteAddress;
    const incomingRequest = { peerAddress, disconnectSignal: createDisconnectSignal(request.signal) };
    const progress = beginProgress(requests.receive(request, url, incomingRequest, false));
    own.add(progress);
    Object.assign(context, hostContext(request, progress, url));
  }

  const admitted = step((_request, { arrived, progress, url }) => admit(arrived, progress, url));
  const routed = step(async (request, { progress, url }) =>
    progress.route.handler === pipeline.handler ? undefined : handle(request, progress, url),
  );

  const first: OwnPlugin = {
    ...operations.hooks,
    onYogaInit({ yoga }) {
      envelop = yoga.getEnveloped;
      endpoint = yoga.graphqlEndpoint;
    },
    onRequest(payload) {
      const { request, serverContext, setRequest, fetchAPI } = payload;
      receiveFromYoga(request, serverContext);
      const { headers, signal, method } = request;
      // Yoga rejects HEAD, so Yoga gets GET.
      if (method === 'HEAD' && serverContext.progress !== undefined)
        setRequest(new fetchAPI.Request(request.url, { headers, signal }));
      return admitted(payload);
    },
    onRequestParse({ serverContext: { progress, url }, setRequestParser }) {
      setRequestParser((request) => pipeline.parse(request, url, progress));
    },
    onResultProcess({ serverContext, setResultProcessor }) {
      setResultProcessor((result) => {
        const made = results.respond(result, hostedOf(serverContext));
        serverContext.made.response = made;
        return made.toResponse();
      }, '*/*');
    },
    onResponse({ response, serverContext: { arrived, progress, url, made }, setResponse }) {
      if (progress === undefined || !own.has(progress)) return;
      const { status, headers } = response;
      const { errorCodes, operation } = made.response ?? NOTHING_KNOWN;
      requests.finish(arrived, { status, headers, errorCodes, operation }, progress, url);
      progress.reservation.release();
      if (progress.headOnly) setResponse(new Response(null, response));
    },
  };
  const last: OwnPlugin = {
    // Without a response, Yoga continues with its GraphQL hooks.
    onRequest: routed,
    onParams({ params, setParams, setParamsHandler }) {
      const enveloped = envelop;
      if (enveloped === undefined) throw new Error('Yoga has not been initialised');
      setParams(CHECKED_ALREADY);
      // Yoga's handler wraps every stream, which hides whether a plugin reads the events.
      setParamsHandler(({ request, context }) =>
        operations.run(params as SentParams, Object.assign(context, { request }), enveloped),
      );
    },
  };
  return { first, last };
}

/**
 * Replaces Yoga's steps by the service's steps. `useEngine` must be the first plugin of `createYoga`. The service's
 * plugins follow in any order. Other plugins must come before the last plugin of the service.
 */
export function useEngine({ schema, serve }: UseEngineOptions): OwnPlugin {
  const plugin: OwnPlugin = {
    onPluginInit({ plugins, setSchema }) {
      setSchema(schema);
      // Yoga also initialises plugins that are added behind the current plugin.
      const all: unknown[] = plugins;
      const { first, last } = createHooks(schema, serve(all.filter(isServicePlugin)));
      all.splice(all.findLastIndex(isServicePlugin) + 1, 0, last);
      all.splice(all.indexOf(plugin) + 1, 0, first);
    },
  };
  return plugin;
}
