import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import type { Deployment } from './deployment.ts';
import { NAMES } from './front.ts';

export interface Page {
  readonly body?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly status?: number;
}

/** The sites of others, all on one port: an application's, the attacker's, and what listens beside the service. */
export interface Sites {
  /** Shows a page from now on, and returns its address. */
  show(host: string, path: string, page: Page | string): string;
  originOf(host: string): string;
  /** With what browsers came back to the application, oldest first. */
  readonly returns: readonly URL[];
  close(): Promise<void>;
}

export async function openSites({ certificate, key, sitesPort }: Deployment): Promise<Sites> {
  const pages = new Map<string, Page>();
  const returns: URL[] = [];
  const originOf = (host: string) => `https://${host}:${sitesPort}`;
  const server = createServer({ cert: certificate, key }, (request, response) => {
    const url = new URL(request.url ?? '/', `https://${request.headers.host}`);
    if (url.hostname === NAMES.application && url.pathname === '/callback') {
      returns.push(url);
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Back</h1>');
      return;
    }
    const { status = 200, headers, body = '' } = pages.get(url.hostname + url.pathname) ?? { status: 404 };
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(body);
  }).listen(sitesPort, '127.0.0.1');
  await once(server, 'listening');
  return {
    show(host, path, page) {
      pages.set(host + path, typeof page === 'string' ? { body: page } : page);
      return originOf(host) + path;
    },
    originOf,
    returns,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
