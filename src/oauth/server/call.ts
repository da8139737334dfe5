import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { KoaContextWithOIDC, default as Provider } from 'oidc-provider';
import { Line } from '../../platform/line.ts';
import type { Logger } from '../../platform/log.ts';
import { holderOf } from '../../request/caller.ts';
import type { HttpRequest } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import { RESUME_COOKIE } from './authorization-parameters.ts';
import { nameClientErrors } from './client-errors.ts';
import { isPublic } from './client-metadata.ts';
import { createExchange } from './exchange.ts';
import { FORM_TYPE } from './form.ts';
import { oauthErrorResponse, oauthRefusal } from './oauth-error.ts';

export interface Call {
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
const PASSED_ON = ['authorization', 'user-agent'];

/** Each of them waits for some milliseconds. */
const MAX_WAITING = 1_024;

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

export function createLibraryCalls(issuer: () => string, log: Logger): LibraryCalls {
  const seen = new WeakMap<IncomingMessage, Seen>();
  const callbacks = new WeakMap<Provider, ReturnType<Provider['callback']>>();
  // One at a time and for half of the time, which leaves the rest to other work.
  const line = new Line({ places: 1, maxWaiting: MAX_WAITING });

  /**
   * A call takes milliseconds and hardly waits for anything. The next one waits for as long as this one took.
   */
  async function restAfterCall(owner: string): Promise<void> {
    const beganMs = performance.now();
    await setImmediate();
    const tookMs = performance.now() - beganMs;
    line.use.add(owner, tookMs);
    await setTimeout(tookMs);
    line.leave(owner);
  }

  /** Resolves when a call may begin. Rejects with TurnRefusedError. */
  async function ownTurn(state: RequestState): Promise<void> {
    const owner = holderOf(state);
    if (!line.enter(owner)) await line.wait(owner);
    void restAfterCall(owner);
  }

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
      await ownTurn(call.state);
      const { incoming, outgoing, response } = exchange(call);
      await callbacks.get(provider)?.(incoming, outgoing);
      const answered = await response;
      const { client, failure } = seen.get(incoming) ?? { client: undefined, failure: undefined };
      const { headers } = answered;
      for (const name of [...headers.keys()]) if (name.startsWith('access-control-')) headers.delete(name);
      if (!headers.get('content-type')?.startsWith('text/html')) headers.delete('content-security-policy');
      headers.delete('set-cookie');
      // HTML error pages are already rendered by us.
      if (failure !== undefined && !headers.get('content-type')?.startsWith('text/html'))
        return {
          response: oauthErrorResponse(oauthRefusal(failure, call.state, log)).toResponse(),
          client,
          failure,
        };
      return { response: answered, client, failure };
    },
  };
}
