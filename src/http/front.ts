import type { ExecutionResult, GraphQLError } from 'graphql';
import type { Logger } from '../platform/log.ts';
import { negotiate } from './accept.ts';
import type { Engine } from './engine.ts';
import { errorResponse } from './error-response.ts';
import { type HeaderFields, type HttpResponse, PlainRequest, PlainResponse } from './plain-http.ts';
import type { HttpPlugin, RequestState, ServerContext } from './request-state.ts';
import type { Responder } from './respond.ts';

export interface FrontOptions {
  readonly engine: Engine;
  readonly plugins: readonly HttpPlugin[];
  readonly respond: Responder;
  readonly path: string;
  /** Origins that get CORS headers, which are Yoga's to give. */
  readonly corsOrigins: readonly string[];
  readonly log: Logger;
}

/** A request as Node's parser gives it, with its body. */
export interface PlainArrival {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly fields: HeaderFields;
  readonly body: Uint8Array;
}

/**
 * The short way for the requests that nearly all are, from no browser page elsewhere: a JSON POST that wants JSON, and
 * whatever is not GraphQL, or is refused to a page elsewhere, so that floods of it are cheap.
 */
export interface Front {
  /** Whether a request can go the short way. The rest goes through Yoga's own HTTP handling. */
  takes(method: string | undefined, target: string | undefined, fields: HeaderFields): boolean;
  answer(arrival: PlainArrival, state: RequestState): Promise<HttpResponse>;
}

/** A path of plain segments, and whatever query: what it says is what any reader of it takes it for. */
const PLAIN_TARGET = /^(?:\/\.?[\w-]+(?:\.[\w-]+)*)+(?:\?[\x21\x24-\x7e]*)?$/;
const PLAIN_METHODS = new Set<string | undefined>(['GET', 'POST']);

type Hook<Name extends 'onRequest' | 'onRequestParse' | 'onResponse'> = NonNullable<HttpPlugin[Name]>;
type Payload<Name extends 'onRequest' | 'onRequestParse' | 'onResponse'> = Parameters<Hook<Name>>[0];

function hooksOf<Name extends 'onRequest' | 'onRequestParse' | 'onResponse'>(
  plugins: readonly HttpPlugin[],
  name: Name,
): Hook<Name>[] {
  return plugins.flatMap((plugin) => (plugin[name] === undefined ? [] : [plugin[name] as Hook<Name>]));
}

/**
 * Runs the same plugins in the same order, and the same steps of GraphQL, without building a Fetch API request and
 * response around them: two thirds of what Yoga costs for a short query. The plugins decide; nothing is decided here.
 * What a hook returns is awaited only where there is something to wait for.
 */
export function createFront({ engine, plugins, respond, path, corsOrigins, log }: FrontOptions): Front {
  const onRequest = hooksOf(plugins, 'onRequest');
  const onRequestParse = hooksOf(plugins, 'onRequestParse');
  const onResponse = hooksOf(plugins, 'onResponse');
  const { href, pathname, searchParams } = new URL(path, 'http://localhost');
  /** What plugins look at of an address. That of GraphQL is always the same: the getters of a URL compute. */
  const graphqlUrl = { href, pathname, searchParams };
  const urlOf = (target: string) => (target === path ? graphqlUrl : new URL(target, href));

  function isGraphql(target: string): boolean {
    return target.startsWith(path) && (target.length === path.length || target[path.length] === '?');
  }

  async function handle(
    request: Request,
    url: Pick<URL, 'href' | 'pathname' | 'searchParams'>,
    serverContext: ServerContext,
  ): Promise<HttpResponse> {
    let ended: HttpResponse | undefined;
    const endResponse = (response: HttpResponse) => {
      ended = response;
    };
    const arrival = { request, url, serverContext, endResponse } as Payload<'onRequest'>;
    for (const hook of onRequest) {
      const waiting = hook(arrival);
      if (waiting !== undefined) await waiting;
      if (ended !== undefined) return ended;
    }
    return respond(await run(request, url, serverContext), request, serverContext.state, PlainResponse);
  }

  async function run(
    request: Request,
    url: Pick<URL, 'href' | 'pathname' | 'searchParams'>,
    serverContext: ServerContext,
  ): Promise<ExecutionResult> {
    let parse: Parameters<Payload<'onRequestParse'>['setRequestParser']>[0] | undefined;
    const setRequestParser = (parser: typeof parse) => {
      parse = parser;
    };
    const parsing = { request, url, serverContext, setRequestParser } as unknown as Payload<'onRequestParse'>;
    try {
      for (const hook of onRequestParse) {
        const waiting = hook(parsing);
        if (waiting !== undefined) await waiting;
      }
      const params = await parse?.(request);
      if (params === undefined || Array.isArray(params) || params instanceof Response)
        throw new Error('no plugin reads the request');
      return await engine(params, request, serverContext);
    } catch (error) {
      // The responder masks it.
      return { errors: [error as GraphQLError] };
    }
  }

  return {
    takes(method, target, fields) {
      if (target === undefined || (target !== path && !PLAIN_TARGET.test(target))) return false;
      if (method === 'OPTIONS') return !corsOrigins.includes(String(fields.origin));
      if (fields.origin !== undefined) return false;
      if (!isGraphql(target)) return PLAIN_METHODS.has(method);
      // The engine here knows no subscriptions.
      return method === 'POST' && negotiate(String(fields.accept ?? '')) !== 'text/event-stream';
    },
    async answer({ method, target, fields, body }, state) {
      const url = urlOf(target);
      const request = new PlainRequest(method, url.href, fields, body) as unknown as Request;
      const serverContext = { state };
      let response: HttpResponse;
      try {
        // A preflight says nothing but its headers, and here it gets none.
        response =
          method === 'OPTIONS'
            ? new PlainResponse('', { status: 204 })
            : await handle(request, url, serverContext);
      } catch (error) {
        response = errorResponse(error, state, log);
      }
      const departure = { request, response, serverContext } as unknown as Payload<'onResponse'>;
      for (const hook of onResponse) {
        const waiting = hook(departure);
        if (waiting !== undefined) await waiting;
      }
      return response;
    },
  };
}
