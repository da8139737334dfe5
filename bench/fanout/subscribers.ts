/**
 * The process that holds the subscribers: raw sockets, because Node's own client would cost more than the server that
 * is measured. It tells the bench when something arrived, and does nothing by itself.
 */
import { connect, type Socket } from 'node:net';
import { machineMs } from '../harness/machine-time.ts';
import { Arrivals } from './arrivals.ts';
import type { ConnectWish, Told, Wish } from './messages.ts';
import { RejectedError, Stream } from './stream.ts';

/** What the service tells clients to wait before they connect again. */
const RETRY_MS = 1_000;
/** All sockets read into it in turn: what they have read is counted before the next one reads. */
const READ = Buffer.alloc(262_144);

const NOTHING: ConnectWish = {
  kind: 'connect',
  port: 0,
  subscribers: 0,
  requests: [],
  atOnce: 0,
  resume: false,
  silent: false,
  limitMs: 0,
};

let wish = NOTHING;
const sockets = new Set<Socket>();
const ids: (string | undefined)[] = [];
let begun = 0;
let live = 0;
let retries = 0;
let startedMs = 0;
let arrivals = new Arrivals(0, 0);
let waiting = false;
/** Ends what the bench waits for when its time is over. */
let deadline: NodeJS.Timeout | undefined;
/** What went wrong while nobody asked. */
let failure: string | undefined;

const tell = (told: Told) => void process.send?.(told);

function response(told: Told): void {
  clearTimeout(deadline);
  deadline = undefined;
  waiting = false;
  tell(told);
}

function fail(reason: string): void {
  failure ??= reason;
  if (deadline !== undefined) response({ kind: 'failed', reason: failure });
}

function respondWithin(limitMs: number, missing: () => string): void {
  deadline = setTimeout(() => fail(`after ${limitMs} ms ${missing()}`), limitMs);
  if (failure !== undefined) fail(failure);
}

function requestOf(subscriber: number): string {
  const request = wish.requests[subscriber % wish.requests.length] ?? '';
  const id = ids[subscriber];
  return wish.resume && id !== undefined ? request.replace('\r\n', `\r\nlast-event-id: ${id}\r\n`) : request;
}

function onLive(subscriber: number, stream: Stream): void {
  ids[subscriber] = stream.lastEventId;
  live += 1;
  if (begun < wish.subscribers) open(begun++);
  if (live === wish.subscribers) response({ kind: 'connected', elapsedMs: machineMs() - startedMs, retries });
}

function open(subscriber: number): void {
  const current = wish;
  const stream = new Stream();
  const socket = connect({
    port: wish.port,
    host: '127.0.0.1',
    onread: {
      buffer: READ,
      callback(size) {
        try {
          const wasLive = stream.live;
          const events = stream.take(READ.subarray(0, size));
          arrivals.note(subscriber, events, size, machineMs());
          if (!wasLive && stream.live) onLive(subscriber, stream);
          if (waiting && arrivals.complete) response(arrivals.received());
        } catch (error) {
          if (!(error instanceof RejectedError && error.passing)) fail((error as Error).message);
          socket.resetAndDestroy();
        }
        return !(current.silent && stream.live);
      },
    },
  });
  sockets.add(socket);
  socket.on('connect', () => socket.write(requestOf(subscriber)));
  // `close` follows and is what counts.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    sockets.delete(socket);
    if (wish !== current || current.silent) return;
    if (stream.live) return fail(`the server closed the stream of subscriber ${subscriber}`);
    retries += 1;
    setTimeout(() => {
      if (wish === current) open(subscriber);
    }, RETRY_MS);
  });
}

function connectAll(next: ConnectWish): void {
  wish = next;
  begun = Math.min(next.atOnce, next.subscribers);
  live = 0;
  retries = 0;
  startedMs = machineMs();
  respondWithin(
    next.limitMs,
    () => `${live} of ${next.subscribers} subscribers have their first block; ${retries} had to try again`,
  );
  for (let subscriber = 0; subscriber < begun; subscriber += 1) open(subscriber);
}

function disconnect(): void {
  wish = NOTHING;
  failure = undefined;
  // Without a trace: thousands of connections in TIME_WAIT would burden what reads the kernel's table of them.
  for (const socket of sockets) socket.resetAndDestroy();
  sockets.clear();
  tell({ kind: 'disconnected' });
}

/** Once the bench has died or given up, nobody would stop this process any more. */
process.on('disconnect', () => process.exit(1));
process.on('message', (message: Wish) => {
  switch (message.kind) {
    case 'connect':
      return connectAll(message);
    case 'expect':
      arrivals = new Arrivals(message.events, message.subscribers);
      return tell({ kind: 'expecting' });
    case 'wait':
      waiting = true;
      respondWithin(message.limitMs, () => arrivals.missing());
      if (waiting && arrivals.complete) response(arrivals.received());
      return;
    case 'lags':
      return tell(arrivals.lags(message.knownMs));
    case 'disconnect':
      return disconnect();
    case 'stop':
      process.exit(0);
  }
});
tell({ kind: 'ready' });
