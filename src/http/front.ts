import type { ExecutionResult, GraphQLError } from 'graphql';
import type { YogaServerInstance } from 'graphql-yoga';
import type { Logger } from '../platform/log.ts';
import { errorResponse } from './error-response.ts';
import { type HeaderFields, PlainRequest, PlainResponse } from './plain-http.ts';
import type { HttpPlugin, RequestState, ServerContext } from './request-state.ts';
import type { Responder } from './respond.ts';

export interface FrontOptions {
  readonly yoga: Pick<YogaServerInstance<ServerContext, object>, 'getResultForParams'>;
  readonly plugins: readonly HttpPlugin[];
  readonly respond: Responder;
  readonly path: string;
  readonly log: Logger;
}

/** The short way for the request that nearly all are: a JSON POST that wants JSON, from no browser page elsewhere. */
export interface Front {
  /** Whether a request can go the short way. The rest goes through Yoga's own HTTP handling. */
  takes(method: string | undefined, target: string | undefined, fields: HeaderFields): boolean;
  answer(fields: HeaderFields, body: Uint8Array, state: RequestState): Promise<PlainResponse | Response>;
}

type Hook<Name extends 'onRequest' | 'onRequestParse' | 'onResponse'> = NonNullable<HttpPlugin[Name]>;
type Payload<Name extends 'onRequest' | 'onRequestParse' | 'onResponse'> = Parameters<Hook<Name>>[0];

function hooksOf<Name extends 'onRequest' | 'onRequestParse' | 'onResponse'>(
  plugins: readonly HttpPlugin[],
  name: Name,
): Hook<Name>[] {
  return plugins.flatMap((plugin) => (plugin[name] === undefined ? [] : [plugin[name] as Hook<Name>]));
}

/**
 * Runs the same plugins in the same order, and the same GraphQL engine, without building a Fetch API request and
 * response around them: two thirds of what Yoga costs for a short query. The plugins decide; nothing is decided here.
 */
export function createFront({ yoga, plugins, respond, path, log }: FrontOptions): Front {
  const onRequest = hooksOf(plugins, 'onRequest');
  const onRequestParse = hooksOf(plugins, 'onRequestParse');
  const onResponse = hooksOf(plugins, 'onResponse');
  const url = new URL(path, 'http://localhost');

  async function handle(request: Request, serverContext: ServerContext): Promise<PlainResponse | Response> {
    let ended: Response | undefined;
    const endResponse = (response: Response) => {
      ended = response;
    };
    const arrival = { request, url, serverContext, endResponse };
    for (const hook of onRequest) {
      await hook(arrival as unknown as Payload<'onRequest'>);
      if (ended !== undefined) return ended;
    }
    return respond(await run(request, serverContext), request, serverContext.state, PlainResponse);
  }

  async function run(
    request: Request,
    serverContext: ServerContext,
  ): Promise<ExecutionResult | AsyncIterable<ExecutionResult>> {
    let parse: Parameters<Payload<'onRequestParse'>['setRequestParser']>[0] | undefined;
    const setRequestParser = (parser: typeof parse) => {
      parse = parser;
    };
    const parsing = { request, url, serverContext, setRequestParser };
    try {
      for (const hook of onRequestParse) await hook(parsing as unknown as Payload<'onRequestParse'>);
      const params = await parse?.(request);
      if (params === undefined || Array.isArray(params) || params instanceof Response)
        throw new Error('no plugin reads the request');
      return (
        (await yoga.getResultForParams({ params, request }, Object.assign({ request }, serverContext))) ?? {}
      );
    } catch (error) {
      // The responder masks it.
      return { errors: [error as GraphQLError] };
    }
  }

  return {
    takes: (method, target, fields) =>
      method === 'POST' &&
      target === path &&
      fields.origin === undefined &&
      !(fields.accept?.includes('text/') ?? false),
    async answer(fields, body, state) {
      const request = new PlainRequest(url.href, fields, body) as unknown as Request;
      const serverContext = { state };
      let response: PlainResponse | Response;
      try {
        response = await handle(request, serverContext);
      } catch (error) {
        response = errorResponse(error, state, log);
      }
      const departure = { request, response, serverContext } as unknown as Payload<'onResponse'>;
      for (const hook of onResponse) await hook(departure);
      return response;
    },
  };
}
