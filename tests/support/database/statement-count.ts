import { connect, createServer, type Socket } from 'node:net';
import { type Duplex, Transform } from 'node:stream';
import { afterAll, beforeAll } from 'vitest';
import { openDatabase } from '../../../src/database/database.ts';
import { startEmbeddedServer } from '../../../src/database/embedded/server.ts';
import { openLog } from '../../../src/engine/events/log-state.ts';
import { HOLD_KEY } from '../../../src/engine/mutations/idempotency/response-store.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { holdTimers } from '../time/timers.ts';
import { createTestDatabase } from './database.ts';
import { isOfRequest } from './watched.ts';

/** A database that is heard saying what it has done. */
export interface CountedDatabase {
  /** The settings of a service that reaches it past the one who counts. */
  readonly settings: Readonly<Record<string, string>>;
  /** The command tag of each statement that the database completed, such as `SELECT 3` or `BEGIN`, in order. */
  readonly completed: string[];
  /** How many round trips these took: the database says once for each that it is ready for more. */
  roundTrips(): number;
}

const COMMAND_COMPLETE = 'C'.charCodeAt(0);
const READY_FOR_QUERY = 'Z'.charCodeAt(0);
const BIND = 'B'.charCodeAt(0);
const QUERY = 'Q'.charCodeAt(0);
const SYNC = 'S'.charCodeAt(0);
const HEADER_BYTES = 5;
const SECOND_MS = 1_000;

/** Begins the event log: a service does so once it first looks at it, in the middle of what is counted. */
async function beginLog(settings: Readonly<Record<string, string>>): Promise<void> {
  const log = createLogger({ level: 'error', pretty: false });
  const database = await openDatabase({ config: loadConfig({ NODE_ENV: 'test', ...settings }), log });
  try {
    await openLog(database, log);
  } finally {
    await database.close();
  }
}

/**
 * Reads the messages of a PostgreSQL server or client (Frontend/Backend Protocol: type, length, body) in whatever
 * pieces they come. A client's first has no type.
 */
function messageReader(
  side: 'client' | 'server',
  onMessage: (type: number, body: Buffer) => void,
): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let started = side === 'server';
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    if (!started) {
      if (rest.length < 4 || rest.length < rest.readUInt32BE(0)) return;
      rest = rest.subarray(rest.readUInt32BE(0));
      started = true;
    }
    while (rest.length >= HEADER_BYTES) {
      const end = 1 + rest.readUInt32BE(1);
      if (rest.length < end) return;
      onMessage(rest.readUInt8(0), rest.subarray(HEADER_BYTES, end));
      rest = rest.subarray(end);
    }
  };
}

/** Passes on what a client sends in whole messages, as the embedded database takes them. */
function wholeMessages(): Transform {
  let rest: Buffer = Buffer.alloc(0);
  let started = false;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      rest = Buffer.concat([rest, chunk]);
      let end = 0;
      for (;;) {
        const lengthAt = end + (started ? 1 : 0);
        if (rest.length < lengthAt + 4) break;
        const next = lengthAt + rest.readUInt32BE(lengthAt);
        if (rest.length < next) break;
        end = next;
        started = true;
      }
      if (end > 0) this.push(Buffer.from(rest.subarray(0, end)));
      rest = rest.subarray(end);
      done();
    },
  });
}

/** The names of the statements of each trip that a client has asked for, in the order in which they are answered. */
function askedOn(client: Socket): string[][] {
  const trips: string[][] = [];
  let names: string[] = [];
  const read = messageReader('client', (type, body) => {
    // Bind: the portal, then the prepared statement, each ended by a zero byte.
    if (type === BIND) names.push(body.toString('latin1').split('\0', 2)[1] ?? '');
    if (type !== SYNC && type !== QUERY) return;
    trips.push(names);
    names = [];
  });
  client.on('data', read);
  return trips;
}

async function openUpstream(): Promise<{ path: string; dial: () => Duplex; close: () => Promise<void> }> {
  const own = await createTestDatabase();
  const { DATABASE_URL: url, DATA_DIR: dataDir = '' } = own.settings;
  if (url !== undefined) {
    const { hostname, port, pathname } = new URL(url);
    return { path: pathname, dial: () => connect(Number(port || 5432), hostname), close: own.drop };
  }
  const server = await startEmbeddedServer(dataDir, createLogger({ level: 'error', pretty: false }));
  return {
    path: '/postgres',
    dial: () => server.createStream().connect(),
    async close() {
      await server.close();
      await own.drop();
    },
  };
}

/**
 * A database behind a proxy that counts the server's CommandComplete messages: one for each statement that the
 * database itself says it has run, named or not, inside a transaction or out, the same on PGlite and PostgreSQL.
 * Its own statistics fall short: pg_stat_statements is not there on PGlite, pg_stat_database counts a transaction as
 * one, and pg_prepared_statements knows named statements only.
 */
async function open(): Promise<CountedDatabase & { close(): Promise<void> }> {
  const upstream = await openUpstream();
  const completed: string[] = [];
  let ready = 0;
  const sockets = new Set<Duplex>();
  const proxy = createServer((client) => {
    const server = upstream.dial();
    let started = false;
    let heard = false;
    let prepared = false;
    let apart = false;
    const trips = askedOn(client);
    const read = messageReader('server', (type, body) => {
      if (type === READY_FOR_QUERY) {
        if (heard) ready += 1;
        heard = false;
        // The first is the end of the start-up, which no trip has asked for.
        if (started) trips.shift();
        started = true;
      }
      if (type !== COMMAND_COMPLETE) return;
      const name = trips[0]?.shift() ?? '';
      const tag = body.toString('latin1', 0, body.length - 1);
      // What wakes instances and what watches the log go over a connection of their own, at a time of their own.
      apart ||= tag === 'LISTEN';
      // A connection's first statement is its settings, no request's.
      const counts = prepared && !apart && isOfRequest({ name });
      prepared = true;
      if (!counts) return;
      completed.push(tag);
      heard = true;
    });
    // So does what keeps the key of a mutation that takes long, as any does on a busy machine; and whoever listens asks
    // for the connection's process id first.
    client.on('data', (chunk) => {
      apart ||= chunk.includes(HOLD_KEY) || chunk.includes('pg_backend_pid');
    });
    server.on('data', read);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      if (from === client) from.pipe(wholeMessages()).pipe(to);
      else from.pipe(to);
      // Either end may hang up; the other then does too.
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const bound = proxy.address();
  if (typeof bound !== 'object' || bound === null) throw new Error('the proxy has no port');
  const settings = {
    DATABASE_URL: `postgres://postgres@127.0.0.1:${bound.port}${upstream.path}`,
    // PGlite has one backend for all connections, on which their prepared statements would collide.
    DATABASE_POOL_SIZE: '1',
  };
  await beginLog(settings);
  return {
    settings,
    completed,
    roundTrips: () => ready,
    async close() {
      const closed = new Promise((resolve) => proxy.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      await upstream.close();
    },
  };
}

/**
 * Opens a counted database for the tests of a file or a `describe`, before the service that `useApp` starts on its
 * settings, which are these and the given ones.
 */
export function useCountedDatabase(given: Readonly<Record<string, string>> = {}): CountedDatabase {
  const settings: Record<string, string> = { ...given };
  const holder = { settings, completed: [] as string[], roundTrips: () => 0 };
  let close = async () => {};
  beforeAll(async () => {
    // The periodic work of an instance sends statements too, at any time.
    const timers = holdTimers(SECOND_MS);
    const opened = await open();
    close = async () => {
      await opened.close();
      timers.release();
    };
    holder.completed = opened.completed;
    holder.roundTrips = opened.roundTrips;
    Object.assign(settings, opened.settings);
  });
  afterAll(() => close());
  return holder;
}
