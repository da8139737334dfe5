/**
 * Whether memory grows: ten minutes at half of what the service can do, reads and writes, while event streams open and
 * close. Resident memory in each minute, and the heap after a collection at the second and the last.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { PRODUCT, startContestant } from './contestants.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { postRequest } from './harness/connection.ts';
import { closedLoop, median, openLoop } from './harness/load.ts';
import { figure, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';

const quick = process.argv.includes('--quick');
const SIZE = { users: 1_000, posts: 20_000 };
const CONNECTIONS = 32;
const MINUTES = quick ? 3 : 10;
const MINUTE_MS = quick ? 10_000 : 60_000;
const STREAMS = 50;
/** How long a stream stays open at most. */
const STREAM_MS = 5_000;
/** One in so many requests writes. */
const WRITES = 20;
const LIST = '{ posts(limit: 20) { id title createdAt author { id name } } }';
const CREATE = 'mutation { createPost(title: "Soak", body: "A text.") { id } }';
const SUBSCRIPTION = 'subscription { postCreated { id title author { name } } }';
/** V8 gives memory back after some collections, so a single look tells little. */
const SAMPLE_MS = 1_000;
const MEGABYTE = 1_048_576;

interface Minute {
  readonly minute: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly opened: number;
  readonly rssMegabytes: number;
  readonly collected: { readonly rssMegabytes: number; readonly heapMegabytes: number } | undefined;
}

/** Opens streams and closes them again at random moments until it is stopped. */
class Churn {
  opened = 0;
  readonly #port: number;
  readonly #head: string;
  #stopped = false;

  constructor(port: number, key: string) {
    this.#port = port;
    const query = new URLSearchParams({ query: SUBSCRIPTION });
    const fields = [`authorization: Bearer ${key}`, 'accept: text/event-stream', 'host: localhost'];
    this.#head = `GET /graphql?${query} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`;
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: STREAMS }, () => this.#again()));
  }

  stop(): void {
    this.#stopped = true;
  }

  async #again(): Promise<void> {
    while (!this.#stopped) {
      const socket = connect(this.#port, '127.0.0.1');
      const { promise: failed, reject } = Promise.withResolvers<never>();
      failed.catch(() => undefined);
      socket.on('error', reject);
      socket.once('data', (head: Buffer) => {
        if (!head.toString('latin1').startsWith('HTTP/1.1 200')) reject(new Error(head.toString()));
        this.opened += 1;
      });
      socket.on('data', () => undefined);
      socket.write(this.#head);
      await Promise.race([delay(Math.random() * STREAM_MS), failed]);
      socket.destroy();
    }
  }
}

const rssOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: SIZE });
  const { server } = await startContestant(cleanup, workspace, PRODUCT, {
    nodeArgs: ['--expose-gc'],
    settings: { MAX_STREAMS: String(2 * STREAMS) },
  });
  const key = workspace.keys[0] ?? '';
  const [list, create] = [LIST, CREATE].map((query) =>
    postRequest('/graphql', { query }, { authorization: `Bearer ${key}` }),
  ) as [Buffer, Buffer];
  const requests = Array.from({ length: WRITES }, (_, index) => (index === 0 ? create : list));
  const load = { port: server.port, requests, connections: CONNECTIONS };
  const churn = new Churn(server.port, key);
  const churning = churn.run();
  await closedLoop({ ...load, durationMs: 5_000 });
  const { perSecond } = await closedLoop({ ...load, durationMs: 5_000 });
  const minutes: Minute[] = [];
  for (let minute = 1; minute <= MINUTES; minute += 1) {
    const before = churn.opened;
    const samples: number[] = [];
    const sampling = setInterval(() => samples.push(rssOf(server.pid)), SAMPLE_MS);
    const seen = await openLoop({ ...load, perSecond: perSecond / 2, durationMs: MINUTE_MS });
    clearInterval(sampling);
    const rssMegabytes = median(samples);
    const looked = minute === 2 || minute === MINUTES;
    const collected = looked ? await server.memory() : undefined;
    minutes.push({
      minute,
      perSecond: seen.perSecond,
      p50Ms: seen.p50Ms,
      p99Ms: seen.p99Ms,
      opened: churn.opened - before,
      rssMegabytes,
      collected: collected && {
        rssMegabytes: collected.rssBytes / MEGABYTE,
        heapMegabytes: collected.heapBytes / MEGABYTE,
      },
    });
    progress(`minute ${minute}: ${figure(rssMegabytes)} MB`);
  }
  churn.stop();
  await churning;
  const growth = (read: (minute: Minute | undefined) => number | undefined) =>
    figure((read(minutes.at(-1)) ?? Number.NaN) / (read(minutes[1]) ?? Number.NaN));
  const [resident, heap] = [growth((it) => it?.rssMegabytes), growth((it) => it?.collected?.heapMegabytes)];
  const rows = minutes.map((it) => [
    String(it.minute),
    it.perSecond.toFixed(0),
    figure(it.p50Ms),
    figure(it.p99Ms),
    String(it.opened),
    it.rssMegabytes.toFixed(0),
    it.collected === undefined ? '' : it.collected.rssMegabytes.toFixed(0),
    it.collected === undefined ? '' : it.collected.heapMegabytes.toFixed(1),
  ]);
  const header = [
    'minute',
    'requests a second',
    'p50 ms',
    'p99 ms',
    'streams opened',
    'MB',
    'MB collected',
    'heap collected',
  ];
  publish(
    'Soak',
    [
      `Half of ${perSecond.toFixed(0)} requests a second, one in ${WRITES} a post, and ${STREAMS} event streams that each live up to ${STREAM_MS / 1_000} s and get every post. Resident memory is the median of a look a second. The last minute to the second: resident ${resident}, heap after a collection ${heap}.`,
      table(header, rows),
      versions(workspace.postgresVersion, workspace.postgresSettings),
    ].join('\n\n'),
    quick,
  );
});
