import { setTimeout as delay } from 'node:timers/promises';
import { Connection, getRequest, postRequest } from '../harness/connection.ts';
import { closedLoop, once, quantile } from '../harness/load.ts';
import { residentBytes } from '../harness/process-time.ts';
import { figure, megabytes, table } from '../report/markdown.ts';
import { type Accepted, requestsFor } from './candidates.ts';
import type { Abused } from './prices.ts';

const ORDINARY_INTERVAL_MS = 200;
const ORDINARY_SHARE = 0.95;
const MAX_MEMORY_BYTES = 1024 ** 3;
const SAMPLE_INTERVAL_MS = 250;
const HEALTH_INTERVAL_MS = 100;
const CHEAP = '{ posts(limit: 5) { id title } }';
const CHEAP_MS = 3_000;
const CUT_OFF = 'cut off';
const HEALTH = getRequest('/health/live', {});

const cheapRequest = (key = '') =>
  postRequest('/graphql', { query: CHEAP }, { authorization: `Bearer ${key}` });

export interface SiegeOptions {
  readonly clients: number;
  readonly durationMs: number;
}

/** Answers by status, of clients that go on whatever they are answered until the time is over. */
async function attack(
  { server, keys }: Abused,
  accepted: Accepted,
  { clients, durationMs }: SiegeOptions,
): Promise<ReadonlyMap<string, number>> {
  const answers = new Map<string, number>();
  const count = (answer: string) => answers.set(answer, (answers.get(answer) ?? 0) + 1);
  const endMs = performance.now() + durationMs;
  await Promise.all(
    Array.from({ length: clients }, async (_, index) => {
      const next = requestsFor(accepted, keys[index % keys.length] ?? '');
      while (performance.now() < endMs) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const connection = await Connection.open(server.port, () => {
          count(CUT_OFF);
          resolve();
        });
        const again = () =>
          connection.send(next(), (status) => {
            count(String(status));
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
  return answers;
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
  const request = cheapRequest(keys.at(-1));
  const times: number[] = [];
  const refused = new Map<string, number>();
  const refuse = (answer: string) => void refused.set(answer, (refused.get(answer) ?? 0) + 1);
  const answers: Promise<void>[] = [];
  const stop = every(ORDINARY_INTERVAL_MS, () => {
    const startMs = performance.now();
    // The next one goes out in its turn, whether this one is answered by then or not.
    const answer = once(server.port, request).then(
      ({ status }) => {
        if (status === 200) times.push(performance.now() - startMs);
        else refuse(String(status));
      },
      () => refuse(CUT_OFF),
    );
    answers.push(answer);
  });
  return {
    async stop() {
      await stop();
      await Promise.all(answers);
      return { asked: answers.length, refused, sorted: times.toSorted((a, b) => a - b) };
    },
  };
}

/** Whether the process says that it lives, and how soon. */
function healthWatch({ server }: Abused) {
  const times: number[] = [];
  let failed = 0;
  const stop = every(HEALTH_INTERVAL_MS, async () => {
    const startMs = performance.now();
    const ok = await once(server.port, HEALTH).then(
      ({ status }) => status === 200,
      () => false,
    );
    times.push(performance.now() - startMs);
    if (!ok) failed += 1;
  });
  return {
    async stop() {
      await stop();
      return { failed, sorted: times.toSorted((a, b) => a - b) };
    },
  };
}

async function cheapP50({ server, keys }: Abused): Promise<number> {
  const requests = keys.map((key) => cheapRequest(key));
  return (await closedLoop({ port: server.port, requests, connections: 1, durationMs: CHEAP_MS })).p50Ms;
}

const thirds = (samples: readonly number[]) => {
  const third = Math.ceil(samples.length / 3);
  return [samples.slice(0, third), samples.slice(third, 2 * third), samples.slice(2 * third)];
};

const listed = (answers: ReadonlyMap<string, number>) =>
  [...answers].map(([answer, count]) => `${answer}: ${count}`).join(', ');
const marked = (text: string, ok: boolean) => (ok ? text : `${text} (!)`);
const timesOf = (sorted: readonly number[]) =>
  `p50 ${figure(quantile(sorted, 0.5))} ms, longest ${figure(quantile(sorted, 1))} ms`;

/** Lets the clients loose, watches memory, health and an ordinary client meanwhile, and reports. */
async function siege(abused: Abused, accepted: Accepted, options: SiegeOptions) {
  const { pid } = abused.server;
  const before = await cheapP50(abused);
  const memoryBefore = residentBytes(pid);
  const memory: number[] = [];
  const stopMemory = every(SAMPLE_INTERVAL_MS, () => void memory.push(residentBytes(pid)));
  const health = healthWatch(abused);
  const ordinary = ordinaryClient(abused);
  const answers = await attack(abused, accepted, options);
  await stopMemory();
  const lived = await health.stop();
  const { asked, refused, sorted } = await ordinary.stop();
  const after = await cheapP50(abused);
  const most = Math.max(...memory);
  return {
    answers: listed(answers),
    'memory before': megabytes(memoryBefore),
    'greatest in the first, second, last third': thirds(memory)
      .map((part) => megabytes(Math.max(...part)))
      .join(', '),
    'greatest memory (at most 1 GiB)': marked(megabytes(most), most < MAX_MEMORY_BYTES),
    'memory afterwards': megabytes(residentBytes(pid)),
    'an ordinary client, 5 a second (at least 95 % answered)': marked(
      `${figure((100 * sorted.length) / asked)} % of ${asked}; ${timesOf(sorted)}${refused.size === 0 ? '' : `; ${listed(refused)}`}`,
      sorted.length >= ORDINARY_SHARE * asked,
    ),
    '/health/live (always 200)': marked(
      `${lived.sorted.length} answers, ${lived.failed} of them not 200; ${timesOf(lived.sorted)}`,
      lived.failed === 0,
    ),
    'a cheap query alone, p50': `${figure(before)} ms before, ${figure(after)} ms after`,
  };
}

/** One siege after another, side by side in a table. */
export async function sieges(
  abused: Abused,
  worst: readonly Accepted[],
  options: SiegeOptions,
): Promise<string> {
  const columns: Record<string, string>[] = [];
  for (const accepted of worst) columns.push(await siege(abused, accepted, options));
  return table(
    ['what', ...worst.map(({ name }) => name)],
    Object.keys(columns[0] ?? {}).map((name) => [name, ...columns.map((column) => column[name] ?? '')]),
  );
}
