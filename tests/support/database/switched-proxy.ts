import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { freePort } from '../../../scripts/cluster/processes.ts';

/** A way to a PostgreSQL that is switched on and off. While it is off, its port rejects connections. */
export interface SwitchedProxy {
  readonly url: string;
  on(): Promise<void>;
  off(): Promise<void>;
  /** Leads to another server from now on, as an address does that moves: connections end. */
  aim(url: string): void;
}

/** Starts one, switched off, for as long as the test runs. */
export async function switchedProxy(url: string): Promise<SwitchedProxy> {
  const target = new URL(url);
  const placeOf = ({ hostname, port }: URL) => ({ host: hostname, port: Number(port || 5432) });
  let place = placeOf(target);
  const port = await freePort();
  const sockets = new Set<Socket>();
  let server: Server | undefined;

  async function on(): Promise<void> {
    const opened = createServer((client) => {
      const database = connect(place);
      for (const socket of [client, database]) {
        sockets.add(socket);
        socket.on('error', () => socket.destroy());
        socket.on('close', () => {
          sockets.delete(socket);
          client.destroy();
          database.destroy();
        });
      }
      client.pipe(database).pipe(client);
    }).listen(port, '127.0.0.1');
    await once(opened, 'listening');
    server = opened;
  }

  async function off(): Promise<void> {
    const closing = server;
    if (closing === undefined) return;
    server = undefined;
    const closed = once(closing, 'close');
    closing.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  onTestFinished(off);
  target.hostname = '127.0.0.1';
  target.port = String(port);
  return {
    url: target.href,
    on,
    off,
    aim(other) {
      place = placeOf(new URL(other));
      for (const socket of sockets) socket.destroy();
    },
  };
}
