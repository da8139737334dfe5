import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { inject } from 'vitest';
import type { GraphqlError } from '../../support/graphql.ts';
import type { Parsed } from '../../support/parsed.ts';

export const deployment = inject('deployment');
const { certificate } = deployment;

/** Fetches by a connection of its own. Header names may come several times. */
export function fetchFrom(origin: string, path: string, init: RequestInit = {}): Promise<Response> {
  const url = new URL(origin);
  const headers = { host: url.host, ...Object.fromEntries(new Headers(init.headers)) };
  const options = {
    host: '127.0.0.1',
    servername: url.hostname,
    port: url.port,
    path,
    method: init.method ?? 'GET',
    headers,
    agent: false,
  };
  return new Promise((resolve, reject) => {
    const outgoing = (url.protocol === 'https:' ? httpsRequest : httpRequest)({
      ...options,
      ca: certificate,
    });
    outgoing.once('error', reject);
    outgoing.once('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.once('error', reject);
      incoming.once('end', () => {
        const responded = new Headers();
        for (let at = 0; at < incoming.rawHeaders.length; at += 2)
          responded.append(incoming.rawHeaders[at] ?? '', incoming.rawHeaders[at + 1] ?? '');
        const status = incoming.statusCode ?? 0;
        const body = status === 204 || status === 304 ? null : Buffer.concat(chunks);
        resolve(new Response(body, { status, headers: responded }));
      });
    });
    outgoing.end(typeof init.body === 'string' ? init.body : undefined);
  });
}

/** The service through nginx and TLS. */
export const service = {
  fetch: (path: string, init?: RequestInit) => fetchFrom(deployment.origin, path, init),
};

export interface Responded {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Parsed;
  readonly codes: readonly string[];
}

export async function readResponse(response: Response): Promise<Responded> {
  const { status, headers } = response;
  const { data, errors = [] } = (await response.json()) as {
    data?: Parsed;
    errors?: readonly GraphqlError[];
  };
  return { status, headers, data, codes: errors.map(({ extensions }) => extensions.code) };
}

/** A GraphQL request with whatever headers, through nginx. */
export async function graphql(query: string, headers: Record<string, string>): Promise<Responded> {
  const body = JSON.stringify({ query });
  const json = { 'content-type': 'application/json' };
  return readResponse(
    await service.fetch('/graphql', { method: 'POST', headers: { ...json, ...headers }, body }),
  );
}

/** Sends bytes as they are; all that comes back until the other end closes, which it does when no request is left. */
export function send(to: 'nginx' | 'service', bytes: string): Promise<string> {
  const { hostname } = new URL(deployment.origin);
  const { port, tlsPort } = deployment.hasty;
  const socket =
    to === 'nginx'
      ? tlsConnect({ host: '127.0.0.1', servername: hostname, port: tlsPort, ca: certificate })
      : connect(port, '127.0.0.1');
  let result = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    result += text;
  });
  // What has come by then is the response.
  socket.on('error', () => undefined);
  socket.write(bytes);
  return new Promise((resolve) => socket.once('close', () => resolve(result)));
}

/** The status lines in what has come back, in order. */
export const statusesIn = (result: string): number[] =>
  [...result.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
