import type { Logger } from '../../platform/log.ts';
import { remember } from '../../platform/remember.ts';
import {
  type HeaderFields,
  type HttpRequest,
  type HttpResponse,
  PlainRequest,
  PlainResponse,
  type RequestUrl,
} from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';
import type { Compression } from '../response/compression.ts';
import { errorResponse } from '../response/error-response.ts';
import { answerGraphql, type Pipeline } from './pipeline.ts';

export interface FastPathOptions {
  readonly plugins: readonly HttpPlugin[];
  readonly pipeline: Pipeline;
  /** Path of the GraphQL endpoint. */
  readonly path: string;
  readonly compression: Compression;
  /** Origins that get CORS headers. Yoga sets those. */
  readonly corsOrigins: readonly string[];
  readonly log: Logger;
}

/** A request as Node's parser delivers it, with its body. */
export interface PlainArrival {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly fields: HeaderFields;
  readonly body: Uint8Array;
}

/**
 * Handles nearly all requests: those without an Origin header. Also answers preflights from origins that are
 * not allowed, so that floods of them are cheap.
 */
export interface FastPath {
  /** Whether the fast path handles the request. All others go through Yoga's HTTP handling. */
  takes(method: string | undefined, target: string | undefined, fields: HeaderFields): boolean;
  answer(arrival: PlainArrival, state: RequestState): Promise<HttpResponse>;
}

/** A path of plain segments, with any query. Every parser reads such a target the same way. */
const PLAIN_TARGET = /^(?:\/\.?[\w-]+(?:\.[\w-]+)*)+(?:\?[\x21\x24-\x7e]*)?$/;
const PLAIN_METHODS = new Set<string | undefined>(['GET', 'POST']);

/**
 * Runs the same plugins in the same order, and the same pipeline, without Fetch API objects: those are two
 * thirds of what Yoga costs for a short query. Hooks that return nothing are not awaited.
 */
export function createFastPath(options: FastPathOptions): FastPath {
  const { plugins, pipeline, path, compression, corsOrigins, log } = options;
  const onRequest = plugins.flatMap((plugin) => plugin.onRequest ?? []);
  const onResponse = plugins.flatMap((plugin) => plugin.onResponse ?? []);
  /**
   * The GraphQL URL on a host. Cached, since URL getters compute on each access and nearly all requests ask
   * for this URL.
   */
  const graphqlUrl = remember((host): RequestUrl => {
    const { href, hostname, pathname, searchParams } = new URL(path, `http://${host}`);
    return { href, hostname, pathname, searchParams };
  });
  const urlOf = (target: string, host: string) =>
    target === path ? graphqlUrl(host) : new URL(target, graphqlUrl(host).href);

  async function handle(request: HttpRequest, url: RequestUrl, state: RequestState): Promise<HttpResponse> {
    let ended: HttpResponse | undefined;
    const endResponse = (response: HttpResponse) => {
      ended = response;
    };
    const arriving = { request, url, state, endResponse };
    for (const hook of onRequest) {
      const waiting = hook(arriving);
      if (waiting !== undefined) await waiting;
      if (ended !== undefined) return ended;
    }
    return answerGraphql(pipeline, request, url, state);
  }

  return {
    takes(method, target, fields) {
      if (target === undefined || (target !== path && !PLAIN_TARGET.test(target))) return false;
      if (method === 'OPTIONS') return !corsOrigins.includes(String(fields.origin));
      return fields.origin === undefined && PLAIN_METHODS.has(method);
    },
    async answer({ method, target, fields, body }, state) {
      state.fast = true;
      const url = urlOf(target, String(fields.host));
      const request = new PlainRequest(method, url.href, fields, body);
      let response: HttpResponse;
      try {
        // A preflight is answered by its headers alone, and a refused origin gets none.
        response =
          method === 'OPTIONS' ? new PlainResponse('', { status: 204 }) : await handle(request, url, state);
      } catch (error) {
        response = errorResponse(error, state, log);
      }
      for (const hook of onResponse) hook({ request, response, state });
      return compression.plain(response, request, state, url);
    },
  };
}
