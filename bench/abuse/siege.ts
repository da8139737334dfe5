import { setTimeout as delay } from 'node:timers/promises';
import { Connection, postRequest } from '../harness/connection.ts';
import { closedLoop, once, quantile } from '../harness/load.ts';
import { residentBytes } from '../harness/process-time.ts';
import type { ServerProcess } from '../harness/server-process.ts';
import { figure, megabytes, table } from '../report/markdown.ts';

/** A service, and a key for each of its clients. */
export interface Abused {
  readonly server: ServerProcess;
  readonly keys: readonly string[];
}

/** A query just below the ceilings of the default settings. */
export interface Costly {
  readonly name: string;
  readonly query: string;
}

const repeat = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => part(i)).join(' ');

const CANDIDATES: readonly Costly[] = [
  {
    name: 'wide lists in a list, with bodies',
    query: '{ posts(limit: 100) { body author { posts(limit: 23) { title body } } } }',
  },
  {
    name: 'short lists in lists, five deep',
    query:
      '{ posts(limit: 17) { body author { posts(limit: 16) { body author { posts(limit: 3) { body author { name } } } } } } }',
  },
  {
    name: 'four pages at the greatest offset',
    query: `{ ${repeat(4, (i) => `a${i}: posts(limit: 80, offset: ${10_000 - i}) { id title body }`)} }`,
  },
  {
    name: 'an answer near the greatest size',
    query: `{ posts(limit: 100) { ${repeat(10, (i) => `b${i}: body`)} } }`,
  },
  {
    name: 'the same, executed',
    query: `{ viewer { email } posts(limit: 100) { ${repeat(10, (i) => `b${i}: body`)} } }`,
  },
  {
    name: 'connections in a list',
    query:
      '{ posts(limit: 48) { author { postsConnection(first: 20) { edges { cursor node { title body } } } } } }',
  },
];
const ORDINARY_INTERVAL_MS = 200;
const ORDINARY_SHARE = 0.95;
const MAX_MEMORY_BYTES = 1024 ** 3;
const TRIES = 5;
const SAMPLE_INTERVAL_MS = 250;
const HEALTH_INTERVAL_MS = 100;
const CHEAP = '{ posts(limit: 5) { id title } }';
const CHEAP_MS = 3_000;
const CALM_MS = 2_000;

const requestFor = (query: string, key = '') =>
  postRequest('/graphql', { query }, { authorization: `Bearer ${key}` });

/** The candidate that takes the service longest, of those that it does not refuse. */
export async function mostExpensive({ server, keys }: Abused): Promise<Costly & { ms: number }> {
  let worst: (Costly & { ms: number }) | undefined;
  for (const candidate of CANDIDATES) {
    const times: number[] = [];
    for (let i = 0; i < TRIES; i += 1) {
      const startMs = performance.now();
      const { status, text } = await once(server.port, requestFor(candidate.query, keys[i % keys.length]));
      if (status === 400 && text.includes('COMPLEXITY_LIMIT')) break;
      if (status !== 200) throw new Error(`"${candidate.name}" failed: ${text.slice(0, 300)}`);
      times.push(performance.now() - startMs);
    }
    // What the limits refuse is no attack.
    if (times.length < TRIES) continue;
    const ms = Math.min(...times);
    if (worst === undefined || ms > worst.ms) worst = { ...candidate, ms };
  }
  if (worst === undefined) throw new Error('there is no candidate');
  return worst;
}

/** Answers by status, of clients that go on whatever they are answered until the time is over. */
async function attack({ server, keys }: Abused, query: string, clients: number, durationMs: number) {
  const statuses = new Map<number, number>();
  const endMs = performance.now() + durationMs;
  await Promise.all(
    Array.from({ length: clients }, async (_, index) => {
      const request = requestFor(query, keys[index % keys.length]);
      while (performance.now() < endMs) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const connection = await Connection.open(server.port, () => resolve());
        const again = () =>
          connection.send(request, (status) => {
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
            // A client that is refused comes back at once, on a new turn of the loop.
            if (performance.now() < endMs) setImmediate(again);
            else resolve();
          });
        again();
        await promise;
        connection.close();
      }
    }),
  );
  return statuses;
}

/** Calls something again and again until it is told to stop. */
function every(intervalMs: number, action: () => Promise<void> | void) {
  let stopped = false;
  const done = (async () => {
    while (!stopped) {
      await action();
      await delay(intervalMs);
    }
  })();
  return async () => {
    stopped = true;
    await done;
  };
}

/** An ordinary client, of an account of its own: how many of its requests are answered with what they asked for. */
function ordinaryClient({ server, keys }: Abused) {
  const request = requestFor(CHEAP, keys.at(-1));
  let asked = 0;
  let answered = 0;
  const stop = every(ORDINARY_INTERVAL_MS, () => {
    asked += 1;
    // The next one goes out in its turn, whether this one is answered by then or not.
    once(server.port, request).then(
      ({ status }) => {
        if (status === 200) answered += 1;
      },
      () => undefined,
    );
  });
  return {
    async stop() {
      await stop();
      await delay(CALM_MS);
      return { asked, answered };
    },
  };
}

async function cheapP50({ server, keys }: Abused): Promise<number> {
  const requests = keys.map((key) => requestFor(CHEAP, key));
  return (await closedLoop({ port: server.port, requests, connections: 1, durationMs: CHEAP_MS })).p50Ms;
}

/** Lets the clients loose, watches memory and health meanwhile, and reports. */
export async function siege(
  abused: Abused,
  { name, query, ms }: Costly & { ms: number },
  { clients, durationMs }: { readonly clients: number; readonly durationMs: number },
): Promise<string> {
  const { server } = abused;
  const before = await cheapP50(abused);
  const memoryBefore = residentBytes(server.pid);
  const memory: number[] = [];
  const health: number[] = [];
  let unhealthy = 0;
  const stopMemory = every(SAMPLE_INTERVAL_MS, () => void memory.push(residentBytes(server.pid)));
  const stopHealth = every(HEALTH_INTERVAL_MS, async () => {
    const startMs = performance.now();
    const response = await fetch(`http://127.0.0.1:${server.port}/health/live`);
    await response.arrayBuffer();
    health.push(performance.now() - startMs);
    if (response.status !== 200) unhealthy += 1;
  });
  const ordinary = ordinaryClient(abused);
  const statuses = await attack(abused, query, clients, durationMs);
  await stopMemory();
  await stopHealth();
  const { asked, answered } = await ordinary.stop();
  const after = await cheapP50(abused);
  const third = Math.ceil(memory.length / 3);
  const greatest = (part: readonly number[]) => megabytes(Math.max(...part));
  const sorted = health.toSorted((a, b) => a - b);
  return table(
    ['what', 'figure'],
    [
      ['the query', `${name}: \`${query.length > 160 ? `${query.slice(0, 160)}…` : query}\``],
      ['one alone', `${figure(ms)} ms`],
      ['answers by status', [...statuses].map(([status, count]) => `${status}: ${count}`).join(', ')],
      ['memory before', megabytes(memoryBefore)],
      [
        'greatest in the first, second, last third',
        [memory.slice(0, third), memory.slice(third, 2 * third), memory.slice(2 * third)]
          .map(greatest)
          .join(', '),
      ],
      [
        'an ordinary client at 5 requests a second',
        `${figure((100 * answered) / asked)} % of ${asked} answered${answered < ORDINARY_SHARE * asked ? ': too few' : ''}`,
      ],
      [
        'greatest memory',
        `${megabytes(Math.max(...memory))}${Math.max(...memory) > MAX_MEMORY_BYTES ? ': too much' : ''}`,
      ],
      ['memory afterwards', megabytes(residentBytes(server.pid))],
      [
        '/health/live',
        `${health.length} answers, ${unhealthy} of them not 200; p50 ${figure(quantile(sorted, 0.5))} ms, longest ${figure(quantile(sorted, 1))} ms`,
      ],
      ['a cheap query alone, p50', `${figure(before)} ms before, ${figure(after)} ms after`],
    ],
  );
}
