import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll } from 'vitest';
import { nodeServerOptions } from '../../src/app/server.ts';
import type { FastPath } from '../../src/http/handler.ts';
import { createNodeServer, type NodeServerOptions } from '../../src/http/server/node-server.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import type { TestApp } from './app.ts';

/** A service on a real socket of this machine. */
export interface Socket {
  readonly origin: string;
  /** Fetches a path of the service through the socket. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>;
  /** Sends bytes as they are and returns all that comes back until the service closes the connection. */
  send(...parts: readonly string[]): Promise<string>;
  /** How many requests the fast path has answered so far, and not Yoga's HTTP handling. */
  readonly fastResponses: number;
  /** How many connections the service has open. */
  connections(): Promise<number>;
}

/** Cuts off no reader for being slow. A test about slow readers sets its own limit. */
const AMPLE_DRAIN_MS = 600_000;

/** Has all requests go through Yoga. */
export const NO_FAST_PATH: FastPath = {
  isFastPathRequest: () => false,
  handle: () => Promise.reject(new Error('closed')),
};

/** Has a server listen during the tests of the file or the `describe`. Read it inside tests only. */
export function useListener<S extends Server>(create: () => S) {
  let server: S;
  let port = 0;
  beforeAll(async () => {
    server = create();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    get server() {
      return server;
    },
    get port() {
      return port;
    },
    get origin() {
      return `http://127.0.0.1:${port}`;
    },
  };
}

/** Has the service of a `useApp` listen, as it does in production, during the tests of the file or the `describe`. Read it inside tests only. */
export function useSocket(app: TestApp, options: Partial<NodeServerOptions> = {}): Socket {
  let fastResponses = 0;
  const listener = useListener(() => {
    const log = createLogger({
      level: 'debug',
      pretty: false,
      destination: { write: (line) => void app.logged.push(line) },
    });
    const serving = nodeServerOptions(app.app, app.config, log);
    const fastPath: FastPath = {
      isFastPathRequest: app.app.fastPath.isFastPathRequest,
      handle(...request) {
        fastResponses += 1;
        return app.app.fastPath.handle(...request);
      },
    };
    return createNodeServer({ ...serving, fastPath, drainLimitMs: AMPLE_DRAIN_MS, ...options });
  });
  return {
    get origin() {
      return listener.origin;
    },
    get fastResponses() {
      return fastResponses;
    },
    fetch: (path, init) => fetch(new URL(path, listener.origin), init),
    connections: () =>
      new Promise((resolve, reject) => {
        listener.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
      }),
    async send(...parts) {
      const socket = connect(listener.port, '127.0.0.1');
      let response = '';
      socket.setEncoding('utf8').on('data', (text: string) => {
        response += text;
      });
      // What has come by then is the response, also where the service has closed on bytes that it did not read.
      socket.on('error', () => undefined);
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      for (const part of parts) socket.write(part);
      await closed;
      return response;
    },
  };
}
