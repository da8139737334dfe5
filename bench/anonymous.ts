/**
 * What floods of requests without credentials do to a client that has some: 3,000 a second to each route that answers
 * anybody, beside a keyed query at a fixed rate. The query alone is measured before each, since the machine is not
 * always the same.
 */
import { setPriority } from 'node:os';
import { type Flood, flood } from './anonymous/flood.ts';
import { ANONYMOUS, type AnonymousRequest } from './anonymous/requests.ts';
import { Statuses } from './anonymous/statuses.ts';
import { PRODUCT, startContestant } from './contestants.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { postRequest } from './harness/connection.ts';
import { closedLoop, type Load, median, openLoop } from './harness/load.ts';
import { figure, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';

const quick = process.argv.includes('--quick');
const SIZE = { users: 1_000, posts: 20_000 };
const FLOOD_PER_SECOND = 3_000;
const FLOOD_CONNECTIONS = 64;
const KEYED_PER_SECOND = 200;
const KEYED_CONNECTIONS = 16;
const KEYED_QUERY = '{ posts(limit: 20) { id title author { name } } }';
const WARM_UP_MS = quick ? 1_000 : 5_000;
const ALONE_MS = quick ? 1_000 : 1_500;
const BESIDE_MS = quick ? 2_000 : 3_500;
/** Each flood comes so often, all of them in turn: what stalls the machine for a moment then counts for one turn. */
const TURNS = quick ? 1 : 3;
const MAX_RATIO = 10;
const FIRST = -15;

interface Beside {
  readonly keyed: Load;
  readonly keyedStatuses: Statuses;
  readonly flooded: Flood;
}

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: SIZE });
  const { server } = await startContestant(cleanup, workspace, PRODUCT);
  // What the generator is late with, because it got no processor, would be told of the server.
  if (process.getuid?.() === 0) setPriority(FIRST);
  const { port } = server;
  const [key = ''] = workspace.keys;
  const requests = [postRequest('/graphql', { query: KEYED_QUERY }, { authorization: `Bearer ${key}` })];
  const query = { port, requests, connections: KEYED_CONNECTIONS, perSecond: KEYED_PER_SECOND };

  async function beside({ bytes }: AnonymousRequest): Promise<Beside> {
    const keyedStatuses = new Statuses();
    const durationMs = BESIDE_MS;
    const [keyed, flooded] = await Promise.all([
      openLoop({ ...query, durationMs, check: keyedStatuses.add }),
      flood({
        port,
        requests: [bytes],
        connections: FLOOD_CONNECTIONS,
        perSecond: FLOOD_PER_SECOND,
        durationMs,
      }),
    ]);
    return { keyed, keyedStatuses, flooded };
  }

  await closedLoop({ ...query, durationMs: WARM_UP_MS });
  for (const { bytes } of ANONYMOUS)
    await openLoop({ ...query, requests: [bytes], durationMs: WARM_UP_MS / 10, check: () => undefined });

  const alone: Load[] = [];
  const measured: (Beside & { readonly name: string })[] = [];
  for (const request of Array.from({ length: TURNS }, () => ANONYMOUS).flat()) {
    alone.push(await openLoop({ ...query, durationMs: ALONE_MS }));
    measured.push({ name: request.name, ...(await beside(request)) });
    const { keyed, keyedStatuses, flooded } = measured.at(-1) as Beside;
    progress(`${request.name}: p99 ${figure(keyed.p99Ms)} ms; ${keyedStatuses}; ${flooded.statuses}`);
  }

  const p99Alone = median(alone.map(({ p99Ms }) => p99Ms));
  const rows = ANONYMOUS.map(({ name }) => {
    const turns = measured.filter((turn) => turn.name === name);
    const p99Ms = median(turns.map(({ keyed }) => keyed.p99Ms));
    const ratio = p99Ms / p99Alone;
    const keyedStatuses = Statuses.sum(turns.map((turn) => turn.keyedStatuses));
    return [
      name,
      median(turns.map(({ flooded }) => flooded.perSecond)).toFixed(0),
      `${Statuses.sum(turns.map((turn) => turn.flooded.statuses))}`,
      figure(median(turns.map(({ keyed }) => keyed.p50Ms))),
      figure(p99Ms),
      `${figure(ratio)}${ratio <= MAX_RATIO ? '' : ' (!)'}`,
      `${keyedStatuses}${keyedStatuses.of(503) === 0 ? '' : ' (!)'}`,
    ];
  });
  const text = [
    `\`${KEYED_QUERY}\` with a key at ${KEYED_PER_SECOND} a second, beside ${FLOOD_PER_SECOND} requests a second without credentials from the same address, ${TURNS} times ${BESIDE_MS / 1000} s each; medians. Alone, before each of them: p50 ${figure(median(alone.map(({ p50Ms }) => p50Ms)))} ms, p99 ${figure(p99Alone)} ms. Aim: p99 at most ${MAX_RATIO} times that, and no 503; beyond it, (!).`,
    table(
      ['flood', 'a second', 'answered with', 'p50, ms', 'p99, ms', 'p99 ÷ alone', 'the query’s answers'],
      rows,
    ),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ].join('\n\n');
  publish('Anonymous floods', text, quick);
});
