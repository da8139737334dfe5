/**
 * What traces cost (`traces [--quick] [W0 … W9]`): the service without a collector, beside itself with all traces sampled,
 * with all and a collector that is down, and with as many as their `traceparent` asks for. Interleaved in rounds. A share of
 * one in a hundred costs less than two equal processes differ by, so the last one is compared with itself: the same process,
 * by turns with one in a hundred and with none. Prints the ratios and writes no file.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Contestant, PRODUCT, type Running, startContestant } from './contestants.ts';
import { removeWritten } from './data/content.ts';
import { tagPosts } from './data/tags.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { inTurn, type Requests } from './harness/load.ts';
import { type Figures, measure, ratios } from './harness/measure.ts';
import { CONNECTIONS, checkResponses, measureAll, settingOf } from './harness/side-by-side.ts';
import { figure, spread, table } from './report/markdown.ts';
import { progress } from './report/results.ts';
import { requestsOf } from './workloads/requests.ts';
import { chosenWorkloads, WORKLOADS, type Workload, writes } from './workloads.ts';

const quick = process.argv.includes('--quick');
const SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
const named = WORKLOADS.some((workload) => process.argv.includes(workload));
const CHOSEN = named ? chosenWorkloads(process.argv) : (['W2', 'W4'] as const);
const ROUNDS = {
  workloads: CHOSEN,
  rounds: 10,
  firstWarmUpMs: 2_000,
  warmUpMs: 500,
  durationMs: quick ? 600 : 2_000,
};
const COLUMNS = ['nodeCpuMs', 'databaseCpuMs', 'perSecond'] as const;
const TITLES = { nodeCpuMs: 'Node CPU', databaseCpuMs: 'database CPU', perSecond: 'requests a second' };
/** Nobody listens there. */
const DOWN = 'http://127.0.0.1:1';

/** Turns of a process with a share of its requests sampled, each between two turns with none. */
const TURNS = quick ? 5 : 30;
const TURN = { connections: CONNECTIONS, warmUpMs: 200, durationMs: quick ? 600 : 2_000 };
const SHARE = 0.01;

const sampled = (endpoint: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_TRACES_SAMPLER: 'always_on',
});

/** The proxy that it trusts decides, which is whoever sends here. */
const asAsked = (endpoint: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_TRACES_SAMPLER: 'parentbased_always_off',
  TRUST_PROXY: '127.0.0.1',
});

/** The same requests, a share of which asks to be sampled. */
function traced(requests: Requests, share: number): () => Buffer {
  const next = inTurn(requests);
  return () => {
    const request = next();
    const headers = request.indexOf('\r\n') + 2;
    const id = (bytes: number) => randomBytes(bytes).toString('hex');
    const flags = Math.random() < share ? '01' : '00';
    const traceparent = Buffer.from(`traceparent: 00-${id(16)}-${id(8)}-${flags}\r\n`);
    return Buffer.concat([request.subarray(0, headers), traceparent, request.subarray(headers)]);
  };
}

/** What a share costs, as a multiple of what none costs before and after it, in one process. */
async function turnsOf(running: Running, workload: Workload, share: number): Promise<readonly Figures[]> {
  const { contestant, workspace } = running;
  const requests = requestsOf(workload, contestant.dialect, workspace);
  const turn = async (one: number) => {
    const figures = await measure(workspace, running, { ...TURN, requests: traced(requests, one) });
    if (writes(workload)) await removeWritten(workspace.admin);
    return figures;
  };
  const divided: Figures[] = [];
  let before = await turn(0);
  for (let left = TURNS; left > 0; left -= 1) {
    const own = await turn(share);
    const after = await turn(0);
    const mean = (name: keyof Figures) => (before[name] + after[name]) / 2;
    divided.push(
      ratios(own, {
        nodeCpuMs: mean('nodeCpuMs'),
        databaseCpuMs: mean('databaseCpuMs'),
        perSecond: mean('perSecond'),
        p50Ms: mean('p50Ms'),
        p99Ms: mean('p99Ms'),
      }),
    );
    before = after;
  }
  return divided;
}

/** The mean of some values, and its standard error. */
function meanOf(values: readonly number[]): string {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return `${figure(mean)} ± ${(Math.sqrt(squares / (values.length - 1) / values.length)).toFixed(3)}`;
}

await withCleanup(async (cleanup) => {
  const collector = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(200).end());
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  cleanup.defer(() => {
    collector.closeAllConnections();
    collector.close();
  });
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const variants: readonly [string, Readonly<Record<string, string>>][] = [
    ['without a collector', {}],
    ['all', sampled(endpoint)],
    ['all, collector down', sampled(DOWN)],
    ['as asked: none', asAsked(endpoint)],
  ];
  progress(`loading ${SIZE.users} users and ${SIZE.posts} posts`);
  const workspace = await openWorkspace(cleanup, { size: SIZE, furnish: tagPosts });
  const running = [];
  for (const [name, settings] of variants) {
    const contestant: Contestant = { ...PRODUCT, name };
    running.push(await startContestant(cleanup, workspace, contestant, { settings }));
  }
  await checkResponses(running, CHOSEN);
  const measured = await measureAll(running, ROUNDS);
  const [base, ...others] = running.map(({ contestant }) => contestant);
  const rows = CHOSEN.flatMap((workload) =>
    others.map((contestant) => {
      const bases = base === undefined ? [] : (measured.get(base)?.get(workload) ?? []);
      const divided = (measured.get(contestant)?.get(workload) ?? []).map((own, round) =>
        ratios(own, bases[round] as Figures),
      );
      return [
        `${workload}, ${contestant.name}`,
        ...COLUMNS.map((name) => spread(divided.map((one) => one[name]))),
      ];
    }),
  );
  process.stdout.write(`${settingOf(SIZE, ROUNDS)}; traces ÷ none: median (quartiles).\n\n`);
  process.stdout.write(`${table(['', ...COLUMNS.map((name) => TITLES[name])], rows)}\n\n`);

  const asked = running.at(-1) as Running;
  const turns: string[][] = [];
  for (const workload of CHOSEN) {
    progress(`${TURNS} turns of one process, ${workload}`);
    const divided = await turnsOf(asked, workload, SHARE);
    turns.push([`${workload}, 1 in 100`, ...COLUMNS.map((name) => meanOf(divided.map((one) => one[name])))]);
  }
  process.stdout.write(
    `One process, ${TURNS} turns of ${TURN.durationMs / 1_000} s ÷ its turns with none: mean ± standard error.\n\n`,
  );
  process.stdout.write(`${table(['', ...COLUMNS.map((name) => TITLES[name])], turns)}\n`);
});
