import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** Where the connection is lost: before the database gets to see what commits, or after it has answered it. */
export type Cut = 'before' | 'after';

/** A way to a PostgreSQL on which connections can get lost at the worst moment. */
export interface CuttingProxy {
  readonly url: string;
  /** Cuts the next so many connections that send COMMIT, or a statement that commits by itself and has this text. */
  cut(where: Cut, times: number, statement?: string): void;
  /** Cuts the connection that sends the packet with this number, counted from 1 and from now on. */
  cutPacket(where: Cut, number: number): void;
  /** Ends the next so many connections as an administrator does, in the very packet that says they are ready. */
  dismiss(times: number): void;
  /** Keeps the next COMMIT from the database for so long. */
  hold(ms: number): void;
  /** How many were cut or dismissed so far. */
  readonly cuts: number;
}

/** The message "Query" of PostgreSQL's protocol with COMMIT in it. */
const COMMIT = Buffer.from('Q\0\0\0\x0bCOMMIT\0', 'latin1');
const COMMITTED = Buffer.from('C\0\0\0\x0bCOMMIT\0', 'latin1');
/** ReadyForQuery, outside a transaction. */
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1');

/** ReadyForQuery, also within a transaction. */
const READY_FOR_MORE = READY.subarray(0, -1);

function message(type: string, body: string): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeInt32BE(4 + Buffer.byteLength(body), 1);
  return Buffer.concat([head, Buffer.from(body)]);
}

/** What pg_terminate_backend has a backend say last (SQLSTATE 57P01, admin_shutdown). */
const DISMISSAL = message(
  'E',
  'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0',
);

/** Starts one in front of the PostgreSQL at `url` for as long as the test runs. */
export async function cuttingProxy(url: string): Promise<CuttingProxy> {
  const proxy = await openCuttingProxy(url);
  onTestFinished(proxy.close);
  return proxy;
}

/** The same for as long as the caller keeps it. */
export async function openCuttingProxy(url: string): Promise<CuttingProxy & { close(): Promise<void> }> {
  const target = new URL(url);
  const [host, port] = [target.hostname, Number(target.port || 5432)];
  const state = {
    where: 'before' as Cut,
    left: 0,
    packets: 0,
    dismissals: 0,
    cuts: 0,
    holdMs: 0,
    sent: COMMIT,
    responded: COMMITTED,
  };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const database = connect(port, host);
    let doomed = false;
    let ready = false;
    const lose = () => {
      state.cuts += 1;
      client.destroy();
      database.destroy();
    };
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        database.destroy();
      });
      // What was cut off on purpose says so; the other end learns it from the close.
      socket.on('error', () => socket.destroy());
    }
    client.on('data', async (data: Buffer) => {
      if (state.holdMs > 0 && data.includes(COMMIT)) {
        const heldMs = state.holdMs;
        state.holdMs = 0;
        client.pause();
        await delay(heldMs);
        client.resume();
      }
      const isCounted = state.packets > 0;
      if (isCounted) state.packets -= 1;
      if ((isCounted && state.packets === 0) || (state.left > 0 && data.includes(state.sent))) {
        state.left = Math.max(state.left - 1, 0);
        if (state.where === 'before') return lose();
        doomed = true;
      }
      database.write(data);
    });
    database.on('data', (data: Buffer) => {
      const becomesReady = !ready && data.includes(READY);
      ready ||= becomesReady;
      if (becomesReady && state.dismissals > 0) {
        state.dismissals -= 1;
        state.cuts += 1;
        client.end(Buffer.concat([data, DISMISSAL]));
      } else if (doomed && data.includes(state.responded)) lose();
      else client.write(data);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  target.hostname = '127.0.0.1';
  target.port = String((server.address() as AddressInfo).port);
  return {
    url: target.href,
    cut(where, times, statement) {
      const [sent, responded] =
        statement === undefined ? [COMMIT, COMMITTED] : [Buffer.from(statement), READY];
      Object.assign(state, { where, left: times, sent, responded });
    },
    cutPacket(where, number) {
      Object.assign(state, { where, packets: number, responded: READY_FOR_MORE });
    },
    dismiss(times) {
      state.dismissals = times;
    },
    hold(ms) {
      state.holdMs = ms;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
    get cuts() {
      return state.cuts;
    },
  };
}
