import { globals } from './platform.ts';

/** How requests reach the service. */
export interface TransportOptions {
  /** The URL of `/graphql`. A relative URL is resolved against the page. */
  readonly url: string | URL;
  /** The mode of cookies: `include` by default. */
  readonly credentials?: RequestCredentials;
  /** More header fields. A function is called before each request, so that it can renew a token. */
  readonly headers?: HeadersInit | (() => HeadersInit | Promise<HeadersInit>);
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** Header fields of one request. */
export type RequestFields = Readonly<Record<string, string>>;

/** Sends requests with the credentials of the client. */
export interface Transport {
  readonly url: string;
  /** The function of the options, or the global one. */
  readonly fetch: typeof fetch;
  send(url: string, init: RequestInit, fields: RequestFields): Promise<Response>;
  post(body: string, fields: RequestFields, signal: AbortSignal): Promise<Response>;
  get(url: string, fields: RequestFields, signal: AbortSignal): Promise<Response>;
}

/** The media types of a single result. With the first, an invalid document has the status 400. */
export const ACCEPT_RESULT = 'application/graphql-response+json, application/json;q=0.9';

export function createTransport(options: TransportOptions): Transport {
  const { credentials = 'include', headers } = options;
  // A page may replace the global function after the client was created, for example for tracing.
  const sendRequest: typeof fetch = (input, init) => (options.fetch ?? globals.fetch)(input, init);
  const send = async (url: string, init: RequestInit, fields: RequestFields): Promise<Response> => {
    const all = new Headers(typeof headers === 'function' ? await headers() : headers);
    for (const [name, value] of Object.entries(fields)) all.set(name, value);
    return sendRequest(url, { ...init, headers: all, credentials });
  };
  return {
    url: String(options.url),
    fetch: sendRequest,
    send,
    post: (body, fields, signal) =>
      send(
        String(options.url),
        { method: 'POST', body, signal },
        {
          accept: ACCEPT_RESULT,
          'content-type': 'application/json',
          ...fields,
        },
      ),
    get: (url, fields, signal) => send(url, { signal }, { accept: ACCEPT_RESULT, ...fields }),
  };
}
