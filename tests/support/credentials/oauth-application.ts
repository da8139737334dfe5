import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as oauth from 'oauth4webapi';
import { onTestFinished } from 'vitest';
import type { Fetching } from './oauth.ts';

/** Loopback has no TLS. */
export const INSECURE = { [oauth.allowInsecureRequests]: true } as const;

interface SentOptions extends Omit<RequestInit, 'body'> {
  readonly body?: oauth.ProtectedResourceRequestBody;
}

/** Options of oauth4webapi with which the library calls an app, whatever the origin of the URL. */
export const callingApp = (app: Fetching) => ({
  ...INSECURE,
  [oauth.customFetch](url: string, { body = null, ...init }: SentOptions = {}): Promise<Response> {
    const { pathname, search } = new URL(url);
    const sent = body instanceof Uint8Array ? new Uint8Array(body) : body;
    return app.fetch(pathname + search, { ...init, body: sent });
  },
});

/** A web application of somebody else's: a page that sends its users to sign in, and the address they come back to. */
export interface OAuthApplication {
  readonly origin: string;
  readonly redirectUri: string;
  /** What the browsers that came back have brought along. */
  readonly returns: URL[];
  /** Has the address that they come back to send them on, as those of web applications do. */
  sendOn(to: string): void;
  /** Discovers the service and prepares the page with an authorization request. */
  begin(issuer: string, client: oauth.Client, scope: string): Promise<Begun>;
}

export interface Begun {
  readonly server: oauth.AuthorizationServer;
  readonly authorizationUrl: URL;
  /** Checks what the user came back with and exchanges the code. Throws what oauth4webapi throws. */
  finish(returned: URL, authentication: oauth.ClientAuth): Promise<oauth.TokenEndpointResponse>;
}

const escaped = (url: URL) => url.href.replaceAll('&', '&amp;');

/** Its host is another site than the service's: "localhost", where that is "127.0.0.1". */
export async function startApplication(): Promise<OAuthApplication> {
  const returns: URL[] = [];
  let link: URL | undefined;
  let onward: string | undefined;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', origin);
    if (url.pathname === '/callback') {
      returns.push(url);
      if (onward !== undefined) {
        response.writeHead(303, { location: onward }).end();
        return;
      }
    }
    response.setHeader('content-type', 'text/html');
    const frame = link === undefined ? '' : `<iframe src="${escaped(link)}"></iframe>`;
    if (url.pathname === '/frame') response.end(frame);
    else
      response.end(
        link === undefined ? 'Done' : `<h1>Reading list</h1><a href="${escaped(link)}">Sign in</a>`,
      );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const redirectUri = `${origin}/callback`;
  return {
    origin,
    redirectUri,
    returns,
    sendOn(to) {
      onward = to;
    },
    async begin(issuer, client, scope) {
      const issuerUrl = new URL(issuer);
      const discovered = await oauth.discoveryRequest(issuerUrl, { algorithm: 'oauth2', ...INSECURE });
      const metadata = await oauth.processDiscoveryResponse(issuerUrl, discovered);
      const verifier = oauth.generateRandomCodeVerifier();
      const state = oauth.generateRandomState();
      link = new URL(metadata.authorization_endpoint ?? '');
      const parameters = {
        response_type: 'code',
        client_id: client.client_id,
        redirect_uri: redirectUri,
        scope,
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(parameters)) link.searchParams.set(name, value);
      return {
        server: metadata,
        authorizationUrl: link,
        async finish(returned, authentication) {
          const checked = oauth.validateAuthResponse(metadata, client, returned, state);
          const response = await oauth.authorizationCodeGrantRequest(
            metadata,
            client,
            authentication,
            checked,
            redirectUri,
            verifier,
            INSECURE,
          );
          return oauth.processAuthorizationCodeResponse(metadata, client, response);
        },
      };
    },
  };
}
