import type { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { KoaContextWithOIDC, default as Provider } from 'oidc-provider';
import { FORM_TYPE } from '../../http/request/body.ts';
import type { Logger } from '../../platform/log.ts';
import type { HttpRequest } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import { isPublic } from '../records/clients.ts';
import { RESUME_COOKIE } from './authorization-parameters.ts';
import { nameClientErrors, oauthErrorResponse, oauthRefusal } from './errors.ts';
import type { Answered } from './work.ts';

interface ExchangeOptions {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** The origin of URLs in the response, whatever Host the client sent. */
  readonly origin: string;
}

type Ending = (chunk?: string | Uint8Array<ArrayBuffer> | null) => ServerResponse;

const WITHOUT_BODY = new Set([204, 304]);

/**
 * A request as Node's HTTP server would deliver it, with its response once that has ended. Adapts between our plugins
 * and the library, which expects Node's HTTP objects. No socket is behind these.
 */
function createExchange({ method, target, headers, body = '', origin }: ExchangeOptions) {
  const { host, protocol } = new URL(origin);
  const socket = Object.assign(new Socket(), { encrypted: protocol === 'https:' });
  const incoming = new IncomingMessage(socket);
  const bytes = Buffer.from(body);
  Object.assign(incoming, {
    method,
    url: target,
    httpVersion: '1.1',
    headers: { ...headers, host, ...(method === 'POST' ? { 'content-length': String(bytes.length) } : {}) },
    complete: true,
  });
  if (bytes.length > 0) incoming.push(bytes);
  incoming.push(null);
  const outgoing = new ServerResponse(incoming);
  const { promise, resolve } = Promise.withResolvers<Response>();
  const end: Ending = (chunk) => {
    const answered = new Headers();
    for (const [name, value] of Object.entries(outgoing.getHeaders()))
      for (const one of Array.isArray(value) ? value : [value])
        if (one !== undefined) answered.append(name, String(one));
    answered.delete('content-length');
    const { statusCode: status } = outgoing;
    const content = WITHOUT_BODY.has(status) || method === 'HEAD' ? null : (chunk ?? '');
    resolve(new Response(content, { status, headers: answered }));
    outgoing.emit('finish');
    return outgoing;
  };
  outgoing.end = end as ServerResponse['end'];
  return { incoming, outgoing, response: promise };
}

interface Call {
  readonly request: HttpRequest;
  readonly state: RequestState;
  /** The posted form. The library gets it as we parsed it, so that both see the same values. */
  readonly form?: URLSearchParams | undefined;
  /** Path and query as passed to the library. */
  readonly target: string;
  /** The sign-in to resume. Its browser has been verified. */
  readonly resumes?: string | undefined;
}

/** A response of the library, and what it does not say. */
export interface Called {
  readonly response: Response;
  /** The client that was authenticated or named. */
  readonly client: { readonly id: string; readonly isPublic: boolean } | undefined;
  /** The internal error, if there was one. */
  readonly failure: unknown;
}

interface Seen {
  readonly state: RequestState;
  client: Called['client'];
  failure: unknown;
}

/** The client's headers that are passed to the library. We set the others ourselves, including Host. */
const PASSED_ON = ['authorization', 'user-agent'] as const;

/** Calls the library, and collects what its responses do not say. */
export interface LibraryCalls {
  /** Subscribes to the events of a provider. Call it once for each. */
  watch(provider: Provider): void;
  call(provider: Provider, call: Call): Promise<Called>;
  /** The state of the request that a callback of the library is about. */
  stateOf(incoming: IncomingMessage): RequestState | undefined;
}

/** Events for requests that the library refused, for the log. */
const ERRORS = ['grant.error', 'revocation.error', 'introspection.error', 'authorization.error'] as const;

interface LibraryCallsOptions {
  readonly issuer: () => string;
  /** Resolves when the call of a request may begin. Rejects with the refusal. */
  readonly turn: (state: RequestState) => Promise<Answered>;
  readonly log: Logger;
}

export function createLibraryCalls({ issuer, turn, log }: LibraryCallsOptions): LibraryCalls {
  const seen = new WeakMap<IncomingMessage, Seen>();
  const callbacks = new WeakMap<Provider, ReturnType<Provider['callback']>>();

  function exchange({ request, state, form, target, resumes }: Call) {
    const headers: Record<string, string> = Object.fromEntries(
      PASSED_ON.flatMap((name) => {
        const value = request.headers.get(name);
        return value === null ? [] : [[name, value]];
      }),
    );
    if (form !== undefined) headers['content-type'] = FORM_TYPE;
    if (resumes !== undefined) headers.cookie = `${RESUME_COOKIE}=${resumes}`;
    const made = createExchange({
      method: request.method,
      target,
      headers,
      body: form?.toString(),
      origin: issuer(),
    });
    seen.set(made.incoming, { state, client: undefined, failure: undefined });
    return made;
  }

  return {
    stateOf: (incoming) => seen.get(incoming)?.state,
    watch(provider) {
      provider.use(async (ctx, next) => {
        // The library adds the hash of its script when it responds with a form that submits itself.
        ctx.set(
          'content-security-policy',
          "default-src 'none'; script-src; frame-ancestors 'none'; base-uri 'none'",
        );
        await next();
        const entry = seen.get(ctx.req);
        const { client } = (ctx as unknown as Partial<KoaContextWithOIDC>).oidc ?? {};
        if (entry !== undefined && client !== undefined)
          entry.client = { id: client.clientId, isPublic: isPublic(client) };
      });
      nameClientErrors(provider);
      for (const event of ERRORS)
        (provider as EventEmitter).on(event, (ctx: KoaContextWithOIDC, error: { error: string }) => {
          const entry = seen.get(ctx.req);
          if (entry !== undefined) entry.state.errorCodes = [error.error];
        });
      const failed = (ctx: Pick<KoaContextWithOIDC, 'req'> | undefined, error: unknown) => {
        const entry = ctx && seen.get(ctx.req);
        if (entry === undefined) log.error({ err: error }, 'the OAuth library failed');
        else entry.failure = error;
      };
      provider.on('server_error', failed);
      // Koa's own event, missing from the library's types: errors that no handler of the library caught.
      (provider as EventEmitter).on('error', (error: unknown, ctx?: KoaContextWithOIDC) =>
        failed(ctx, error),
      );
      callbacks.set(provider, provider.callback());
    },
    async call(provider, call) {
      const answers = await turn(call.state);
      const { incoming, outgoing, response } = exchange(call);
      await callbacks.get(provider)?.(incoming, outgoing);
      const answered = await response;
      // An outage is no fault of whoever asked.
      answers(answered.status >= 400 && answered.status < 500);
      const { client, failure } = seen.get(incoming) ?? { client: undefined, failure: undefined };
      const { headers } = answered;
      for (const name of [...headers.keys()]) if (name.startsWith('access-control-')) headers.delete(name);
      const isPage = headers.get('content-type')?.startsWith('text/html') === true;
      if (isPage) headers.set('cross-origin-opener-policy', 'same-origin');
      else headers.delete('content-security-policy');
      headers.delete('set-cookie');
      // HTML error pages are already rendered by us.
      if (failure !== undefined && !isPage)
        return {
          response: oauthErrorResponse(oauthRefusal(failure, call.state, log)).toResponse(),
          client,
          failure,
        };
      return { response: answered, client, failure };
    },
  };
}
