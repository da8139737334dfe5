import type { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { KoaContextWithOIDC, default as Provider } from 'oidc-provider';
import { FORM_TYPE } from '../../../http/body.ts';
import type { AdmittedRequest } from '../../../http/exchange.ts';
import { type HttpRequest, HttpResponse } from '../../../http/message.ts';
import type { Logger } from '../../../platform/log/log.ts';
import { isPublic } from '../clients.ts';
import { type LibraryCall, nameClientErrors, oauthErrorResponse, toOAuthError } from './errors.ts';
import type { ReportOutcome } from './oauth-transaction.ts';
import { RESUME_COOKIE } from './provider.ts';

interface ProviderCall {
  readonly request: HttpRequest;
  readonly admitted: AdmittedRequest;
  /** The library gets the parsed form, so that both sides see the same values. */
  readonly form?: URLSearchParams | undefined;
  readonly target: string;
  /** The sign-in to resume, after its browser was verified. */
  readonly resumes?: string | undefined;
}

/** Only these client headers are passed to the library. The service sets all others, including Host. */
const PASSED_ON = ['authorization', 'user-agent'] as const;
/** Header fields of the library's responses that the service sets itself or does not send. */
const OURS = /^(?:content-length|set-cookie|access-control-.*)$/;

/**
 * The library expects Node's HTTP objects, which are created without a socket. URLs in the response have the
 * issuer's origin, independent of the Host header.
 */
function exchange({ request, form, target, resumes }: ProviderCall, issuer: string) {
  const { host, protocol } = new URL(issuer);
  const body = Buffer.from(form?.toString() ?? '');
  const { method } = request;
  const headers: Record<string, string> = { host };
  for (const name of PASSED_ON) {
    const value = request.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  if (method === 'POST') headers['content-length'] = String(body.length);
  if (form !== undefined) headers['content-type'] = FORM_TYPE;
  if (resumes !== undefined) headers.cookie = `${RESUME_COOKIE}=${resumes}`;
  const socket = Object.assign(new Socket(), { encrypted: protocol === 'https:' });
  const incoming = new IncomingMessage(socket);
  Object.assign(incoming, { method, url: target, httpVersion: '1.1', headers, complete: true });
  if (body.length > 0) incoming.push(body);
  incoming.push(null);
  const outgoing = new ServerResponse(incoming);
  const { promise: response, resolve } = Promise.withResolvers<HttpResponse>();
  const end = (chunk?: string | Uint8Array | null): ServerResponse => {
    const fields = Object.entries(outgoing.getHeaders()).filter(([name]) => !OURS.test(name));
    resolve(
      new HttpResponse(typeof chunk === 'string' ? chunk : Buffer.from(chunk ?? []), {
        status: outgoing.statusCode,
        headers: Object.fromEntries(fields.map(([name, value]) => [name, String(value)])),
      }),
    );
    outgoing.emit('finish');
    return outgoing;
  };
  outgoing.end = end as ServerResponse['end'];
  return { incoming, outgoing, response };
}

export interface ProviderCallResult {
  readonly response: HttpResponse;
  readonly client: { readonly id: string; readonly isPublic: boolean } | undefined;
}

interface Seen extends LibraryCall {
  client: ProviderCallResult['client'];
  failure: unknown;
}

/** The library emits these events for rejected requests. */
const ERRORS = ['grant.error', 'revocation.error', 'introspection.error', 'authorization.error'] as const;

/**
 * Collects details that are missing from the library's responses.
 * @param takeSlot resolves when the call of a request may begin, and rejects with the error
 */
export function createLibraryCalls(
  issuer: () => string,
  takeSlot: (admitted: AdmittedRequest) => Promise<ReportOutcome>,
  log: Logger,
) {
  const seen = new WeakMap<IncomingMessage, Seen>();
  const callbacks = new WeakMap<Provider, ReturnType<Provider['callback']>>();

  return {
    callOf: (incoming: IncomingMessage): LibraryCall | undefined => seen.get(incoming),
    /** Must be called once for each provider. */
    watch(provider: Provider): void {
      provider.use(async (ctx, next) => {
        // The library adds the hash of its script to a form that submits itself.
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
          if (entry !== undefined) entry.errorCodes = [error.error];
        });
      const failed = (ctx: Pick<KoaContextWithOIDC, 'req'> | undefined, error: unknown) => {
        const entry = ctx && seen.get(ctx.req);
        if (entry === undefined) log.emit('oauth.internal_error', { err: error });
        else entry.failure = error;
      };
      provider.on('server_error', failed);
      // Koa emits this event for errors that the library did not catch. The library's types do not have the
      // event.
      (provider as EventEmitter).on('error', (error: unknown, ctx?: KoaContextWithOIDC) =>
        failed(ctx, error),
      );
      callbacks.set(provider, provider.callback());
    },
    async call(provider: Provider, call: ProviderCall): Promise<ProviderCallResult> {
      const { admitted } = call;
      const reportOutcome = await takeSlot(admitted);
      const { incoming, outgoing, response } = exchange(call, issuer());
      const entry: Seen = { admitted, client: undefined, failure: undefined, errorCodes: [] };
      seen.set(incoming, entry);
      await callbacks.get(provider)?.(incoming, outgoing);
      const finished = await response;
      // An outage is not the client's error.
      reportOutcome(finished.status >= 400 && finished.status < 500);
      const { client, failure, errorCodes } = entry;
      finished.errorCodes = errorCodes;
      const { headers } = finished;
      const isPage = headers.get('content-type')?.startsWith('text/html') === true;
      if (isPage) headers.set('cross-origin-opener-policy', 'same-origin');
      else headers.delete('content-security-policy');
      // The service has already rendered HTML error pages.
      if (failure !== undefined && !isPage)
        return { response: oauthErrorResponse(toOAuthError(failure, admitted, log)), client };
      return { response: finished, client };
    },
  };
}

export type LibraryCalls = ReturnType<typeof createLibraryCalls>;
