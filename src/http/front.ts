import type { ExecutionResult, GraphQLError } from 'graphql';
import type { Logger } from '../platform/log.ts';
import { negotiate } from './accept.ts';
import type { Engine } from './engine.ts';
import { errorResponse } from './error-response.ts';
import { type HeaderFields, PlainRequest, PlainResponse } from './plain-http.ts';
import type { HttpPlugin, RequestState, ServerContext } from './request-state.ts';
import type { Responder } from './respond.ts';

export interface FrontOptions {
  readonly engine: Engine;
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
 * Runs the same plugins in the same order, and the same steps of GraphQL, without building a Fetch API request and
 * response around them: two thirds of what Yoga costs for a short query. The plugins decide; nothing is decided here.
 * What a hook returns is awaited only where there is something to wait for.
 */
export function createFront({ engine, plugins, respond, path, log }: FrontOptions): Front {
  const onRequest = hooksOf(plugins, 'onRequest');
  const onRequestParse = hooksOf(plugins, 'onRequestParse');
  const onResponse = hooksOf(plugins, 'onResponse');
  const { href, pathname, searchParams } = new URL(path, 'http://localhost');
  /** What plugins look at of the address, which is always the same: the getters of a URL compute. */
  const url = { href, pathname, searchParams };

  async function handle(request: Request, serverContext: ServerContext): Promise<PlainResponse | Response> {
    let ended: Response | undefined;
    const endResponse = (response: Response) => {
      ended = response;
    };
    const arrival = { request, url, serverContext, endResponse } as unknown as Payload<'onRequest'>;
    for (const hook of onRequest) {
      const waiting = hook(arrival);
      if (waiting !== undefined) await waiting;
      if (ended !== undefined) return ended;
    }
    return respond(await run(request, serverContext), request, serverContext.state, PlainResponse);
  }

  async function run(request: Request, serverContext: ServerContext): Promise<ExecutionResult> {
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
    takes: (method, target, fields) =>
      method === 'POST' &&
      target === path &&
      fields.origin === undefined &&
      // The engine here knows no subscriptions.
      negotiate(String(fields.accept ?? '')) !== 'text/event-stream',
    async answer(fields, body, state) {
      const request = new PlainRequest(href, fields, body) as unknown as Request;
      const serverContext = { state };
      let response: PlainResponse | Response;
      try {
        response = await handle(request, serverContext);
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
