import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request that the stub received. */
export interface StubRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** How the stub responds to one request. */
export type StubReply = (response: ServerResponse, request: StubRequest) => void | Promise<void>;

/** A server that responds as a test says, on a port of its own. */
export interface ServiceStub {
  readonly url: string;
  readonly requests: readonly StubRequest[];
  /** Sets the replies to the next requests. The last reply is repeated. */
  reply(...replies: readonly StubReply[]): void;
  /** Stops listening and closes all connections. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
}

/** Responds with JSON. */
export const json =
  (body: object, status = 200, headers: Readonly<Record<string, string>> = {}): StubReply =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };

/** Responds with an error of the service. */
export const failure = (
  code: string,
  status: number,
  headers: Readonly<Record<string, string>> = {},
  extensions: object = {},
): StubReply => json({ errors: [{ message: code, extensions: { code, ...extensions } }] }, status, headers);

/** Responds with a page, as a proxy or the login page of a network does. */
export const page =
  (status: number): StubReply =>
  (response) => {
    response.writeHead(status, { 'content-type': 'text/html' });
    response.end('<h1>Sign in to the network</h1>');
  };

/** Closes the connection without a response. */
export const disconnect: StubReply = (response) => {
  response.socket?.destroy();
};

/** Responds with blocks of an event stream, then leaves the connection open or closes it. */
export const stream =
  (blocks: readonly string[], isLeftOpen = true): StubReply =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(blocks.map((block) => `${block}\n\n`).join(''));
    if (!isLeftOpen) response.end();
  };

/** Keeps the request pending. */
export const silence: StubReply = () => undefined;

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** Starts a stub, which stops with the test. */
export async function startStub(...replies: readonly StubReply[]): Promise<ServiceStub> {
  let queue = [...replies];
  const requests: StubRequest[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '' } = request;
    const headers: Record<string, string | undefined> = {};
    for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
    const received = { method, path, headers, body: await readBody(request).catch(() => '') };
    requests.push(received);
    const [next] = queue;
    if (queue.length > 1) queue = queue.slice(1);
    await next?.(response, received);
  });
  const listen = (port: number) =>
    new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;
  onTestFinished(async () => {
    if (server.listening) await stop();
  });
  return {
    url: `http://127.0.0.1:${port}/graphql`,
    requests,
    reply: (...next) => {
      queue = [...next];
    },
    stop,
    start: () => listen(port),
  };
}
