import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { KoaContextWithOIDC, default as Provider } from 'oidc-provider';
import type { Logger } from '../../platform/log.ts';
import type { HttpRequest } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import { RESUME_COOKIE } from './authorization-parameters.ts';
import { nameClientErrors } from './client-errors.ts';
import { isPublic } from './client-metadata.ts';
import { createExchange, type Exchange } from './exchange.ts';
import { FORM_TYPE } from './form.ts';
import { oauthErrorResponse, oauthRefusal } from './oauth-error.ts';

export interface Call {
  readonly request: HttpRequest;
  readonly state: RequestState;
  /** The form that was posted. The library gets what has been read of it, so that both see the same. */
  readonly form?: URLSearchParams | undefined;
  /** Path and query as the library is to see them. */
  readonly target: string;
  /** The sign-in to come back from, whose browser it has been found to be. */
  readonly resumes?: string | undefined;
}

/** What an answer of the library came with. */
export interface Called {
  readonly response: Response;
  /** The client that was authenticated or named. */
  readonly client: { readonly id: string; readonly isPublic: boolean } | undefined;
  /** What went wrong inside, where something did. */
  readonly failure: unknown;
}

interface Seen {
  readonly state: RequestState;
  client: Called['client'];
  failure: unknown;
}

/** What the library needs of a request's headers. The rest, and who is asked for and from where, it gets from us. */
const PASSED_ON = ['authorization', 'user-agent'];

/** Calls the library, and learns from it what it does not say in its answers. */
export interface LibraryCalls {
  /** Listens to what a provider does. To be called once for each. */
  watch(provider: Provider): void;
  call(provider: Provider, call: Call): Promise<Called>;
  /** Whose request it is that the library asks something about. */
  stateOf(incoming: IncomingMessage): RequestState | undefined;
}

/** What the library says of a request that it has refused: for the log. */
const ERRORS = ['grant.error', 'revocation.error', 'introspection.error', 'authorization.error'] as const;

export function createLibraryCalls(issuer: () => string, log: Logger): LibraryCalls {
  const seen = new WeakMap<IncomingMessage, Seen>();
  const callbacks = new WeakMap<Provider, ReturnType<Provider['callback']>>();
  let lastTurn: Promise<void> = Promise.resolve();

  /** A call takes milliseconds and hardly waits for anything. The one after it waits for as long as it took. */
  async function restAfterCall(): Promise<void> {
    const beganMs = performance.now();
    await setImmediate();
    await setTimeout(performance.now() - beganMs);
  }

  /** Resolves when a call may begin: one at a time, for half of the time, which leaves the other half to all else. */
  function ownTurn(): Promise<void> {
    const turn = lastTurn;
    lastTurn = turn.then(restAfterCall);
    return turn;
  }

  function exchange({ request, state, form, target, resumes }: Call): Exchange {
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
        // The library adds the hash of its script where it answers by a form that posts itself.
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
      // Koa's own event, which the library's types leave out: what no handler of the library has caught.
      (provider as EventEmitter).on('error', (error: unknown, ctx?: KoaContextWithOIDC) =>
        failed(ctx, error),
      );
      callbacks.set(provider, provider.callback());
    },
    async call(provider, call) {
      await ownTurn();
      const { incoming, outgoing, response } = exchange(call);
      await callbacks.get(provider)?.(incoming, outgoing);
      const answered = await response;
      const { client, failure } = seen.get(incoming) ?? { client: undefined, failure: undefined };
      const { headers } = answered;
      for (const name of [...headers.keys()]) if (name.startsWith('access-control-')) headers.delete(name);
      if (!headers.get('content-type')?.startsWith('text/html')) headers.delete('content-security-policy');
      headers.delete('set-cookie');
      // A page that tells of a failure has been made by us.
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
