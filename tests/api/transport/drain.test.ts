import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { nodeServerOptions } from '../../../src/app/server.ts';
import { HttpResponse } from '../../../src/http/message.ts';
import { drain } from '../../../src/http/server/listen.ts';
import { createNodeServer } from '../../../src/http/server/node-server.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { useApp } from '../../support/app.ts';
import { NO_FAST_PATH } from '../../support/socket.ts';

const LONG_MS = 60_000;
const app = useApp();

interface Listening {
  readonly server: Server;
  readonly port: number;
  /** Starts to drain; resolves once nobody can connect any more, with the end of it. */
  leave(graceMs: number): Promise<{ readonly drained: Promise<void> }>;
}

/** The service on a socket, as `npm start` has it. */
async function listen(handle = nodeServerOptions(app.app, app.config, silent()).handle): Promise<Listening> {
  let closing = false;
  const options = nodeServerOptions(app.app, app.config, silent());
  const fastPath = NO_FAST_PATH;
  const server = createNodeServer({ ...options, fastPath, handle, closing: () => closing });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.closeAllConnections());
  return {
    server,
    port: (server.address() as AddressInfo).port,
    async leave(graceMs) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const onDeaf = () => {
        closing = true;
        resolve();
      };
      const drained = drain(server, { graceMs, onDeaf });
      await promise;
      return { drained };
    },
  };
}

const silent = () => createLogger({ level: 'silent', pretty: false });

/** A client that keeps its connection. */
class Client {
  readonly socket: Socket;
  readonly ended: Promise<unknown>;
  text = '';

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setEncoding('utf8').on('data', (part: string) => {
      this.text += part;
    });
    this.ended = once(this.socket, 'close');
  }

  /** Sends a request and returns the head of its response. */
  async ask(): Promise<string> {
    this.text = '';
    this.socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await expect.poll(() => this.text).toMatch(/\}$/);
    return this.text.split('\r\n\r\n')[0] ?? '';
  }
}

async function rejected(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  return error.code ?? '';
}

describe('a service that stops', () => {
  it('answers everyone who has connected, also those whose connections the system has queued', async () => {
    const { port, leave } = await listen();
    const clients = Array.from({ length: 50 }, () => new Client(port));
    const responses = Promise.all(clients.map((client) => client.ask()));
    // The process may notice that a connection exists before it accepts the next one.
    await once((clients.at(-1) as Client).socket, 'connect');
    const { drained } = await leave(LONG_MS);
    expect((await responses).every((head) => head.startsWith('HTTP/1.1 200'))).toBe(true);
    for (const { socket } of clients) socket.destroy();
    await drained;
  });

  it('answers the next request of a connection that was idle, and tells its client to close', async () => {
    const { port, leave } = await listen();
    const [one, two] = [new Client(port), new Client(port)];
    for (const client of [one, two]) {
      const head = await client.ask();
      expect(head).toMatch(/^HTTP\/1\.1 200 /);
      expect(head).not.toMatch(/^connection: close$/im);
    }
    const { drained } = await leave(LONG_MS);
    expect(await rejected(port)).toBe('ECONNREFUSED');
    for (const client of [one, two]) {
      const head = await client.ask();
      expect(head).toMatch(/^HTTP\/1\.1 200 /);
      expect(head).toMatch(/^connection: close$/im);
      await client.ended;
    }
    // Nothing is left to wait for.
    await drained;
  });

  it('answers a request of a client that has only just connected', async () => {
    const { port, leave, server } = await listen();
    const client = new Client(port);
    await once(server, 'connection');
    const { drained } = await leave(0);
    expect(await client.ask()).toMatch(/^connection: close$/im);
    await Promise.all([client.ended, drained]);
  });

  it('lets a running request finish, and closes idle connections once their time is over', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: running, resolve: begun } = Promise.withResolvers<void>();
    let holds = false;
    const { port, leave } = await listen(async () => {
      if (holds) {
        begun();
        await held;
      }
      return new HttpResponse('{}');
    });
    const [idle, busy] = [new Client(port), new Client(port)];
    await idle.ask();
    holds = true;
    const response = busy.ask();
    await running;
    const { drained } = await leave(0);
    await idle.ended;
    release();
    expect(await response).toMatch(/^connection: close$/im);
    await Promise.all([busy.ended, drained]);
  });
});
