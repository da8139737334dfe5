import { connect, type Socket } from 'node:net';
import { postRequest } from '../harness/connection.ts';
import { openLoop } from '../harness/load.ts';
import { residentBytes } from '../harness/process-time.ts';
import { figure, megabytes, table } from '../report/markdown.ts';
import type { Abused } from './prices.ts';

const IDLE = 1_000;
const SLOW = 200;
const BYTE_INTERVAL_MS = 250;
/** Longer than the service gives a request to arrive. */
const WATCH_MS = 15_000;
/** What an ordinary client asks, well within the limits of its keys: as fast as it can would not be. */
const PER_SECOND = 200;
const QUERY = '{ posts(limit: 5) { id title } }';
const SLOW_REQUEST =
  'POST /graphql HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n{';

/** Connections, and how many of them the server has closed. */
interface Crowd {
  readonly sockets: readonly Socket[];
  closed(): number;
}

async function gather(count: number, port: number): Promise<Crowd> {
  let closed = 0;
  const sockets = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect(port, '127.0.0.1', () => {
            socket.off('error', reject);
            // A reset is one way to be shown the door; `close` follows and is what counts.
            socket.on('error', () => undefined);
            socket.on('close', () => {
              closed += 1;
            });
            socket.resume();
            resolve(socket);
          });
          socket.once('error', reject);
        }),
    ),
  );
  return { sockets, closed: () => closed };
}

/** Half of them never finish their header, the other half their body. */
function drip({ sockets }: Crowd): () => void {
  const bodyStart = SLOW_REQUEST.indexOf('{');
  let sent = 0;
  for (const socket of sockets.filter((_, index) => index % 2 === 0))
    socket.write(SLOW_REQUEST.slice(0, bodyStart));
  const timer = setInterval(() => {
    for (const [index, socket] of sockets.entries())
      if (!socket.destroyed && socket.writable)
        socket.write(index % 2 === 0 ? ' ' : (SLOW_REQUEST[sent % (bodyStart - 4)] ?? ' '));
    sent += 1;
  }, BYTE_INTERVAL_MS);
  return () => clearInterval(timer);
}

/** Slow requests and idle connections, and what an ordinary client notices of them. */
export async function floodWithConnections({ server, keys }: Abused): Promise<string> {
  const { port, pid } = server;
  const requests = keys.map((key) =>
    postRequest('/graphql', { query: QUERY }, { authorization: `Bearer ${key}` }),
  );
  const load = { port, requests, connections: 1, perSecond: PER_SECOND };
  const before = await openLoop({ ...load, durationMs: 2_000 });
  const memoryBefore = residentBytes(pid);
  const idle = await gather(IDLE, port);
  const slow = await gather(SLOW, port);
  const stop = drip(slow);
  try {
    const during = await openLoop({ ...load, durationMs: WATCH_MS });
    return table(
      ['what', 'figure'],
      [
        [
          'connections',
          `${SLOW} that send a byte every ${BYTE_INTERVAL_MS} ms, ${IDLE} that send nothing, for ${WATCH_MS / 1000} s`,
        ],
        ['slow ones that the service has closed', `${slow.closed()}`],
        ['idle ones that the service has closed', `${idle.closed()}`],
        [
          'an ordinary client, p50',
          `${figure(before.p50Ms)} ms before, ${figure(during.p50Ms)} ms meanwhile`,
        ],
        [
          'an ordinary client, p99',
          `${figure(before.p99Ms)} ms before, ${figure(during.p99Ms)} ms meanwhile`,
        ],
        ['memory', `${megabytes(memoryBefore)} before, ${megabytes(residentBytes(pid))} meanwhile`],
      ],
    );
  } finally {
    stop();
    for (const socket of [...slow.sockets, ...idle.sockets]) socket.destroy();
  }
}
