/**
 * Published documents: what a request by an id costs beside one by a text, known and never seen, and what 100,000 of
 * them do to memory and to the start.
 */
import { loadConfig } from '../src/platform/config.ts';
import { openDatabase } from '../src/platform/db/database.ts';
import { createLogger } from '../src/platform/log.ts';
import { PRODUCT, type Running, type StartOptions, startContestant } from './contestants.ts';
import { tagPosts } from './data/tags.ts';
import { openWorkspace, type Workspace } from './data/workspace.ts';
import { type Cost, costOf, costOfLookUp, sendAll } from './documents/cost.ts';
import { ASKED, type Asked, idOf, publishTexts, requestsBy, textNamed } from './documents/published.ts';
import { withCleanup } from './harness/cleanup.ts';
import { median } from './harness/load.ts';
import { figure, megabytes, spread, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';
import { GRAPHQL } from './workloads/texts.ts';

const quick = process.argv.includes('--quick');
const SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
const DOCUMENTS = quick ? 10_000 : 100_000;
const FEW = 5_000;
const PUBLISHED_AT_ONCE = 1_000;
const ROUNDS = quick ? 4 : 24;
const STARTS = quick ? 2 : 10;
/** Requests of a round: known ones, and ones that come for the first time. */
const KNOWN = quick ? 1_000 : 4_000;
const UNSEEN = quick ? 300 : 1_000;

/** Those of a workload are every third. */
const workloadOf = (index: number): Asked => ASKED[index % ASKED.length] as Asked;
const published = Array.from({ length: DOCUMENTS }, (_, index) => textNamed(workloadOf(index), `P${index}`));

const SIDES = ['known text', 'known id', 'unseen text', 'unseen id'] as const;
type Round = Readonly<Record<(typeof SIDES)[number], Cost>> & { readonly lookUpMs: number };

/** All sides of a workload once; every other round the other way round. */
async function roundOf(
  { server, workspace: { keys } }: Running,
  workload: Asked,
  round: number,
  lookUp: (ids: readonly string[]) => Promise<number>,
): Promise<Round> {
  const known = Array.from({ length: KNOWN }, () => GRAPHQL[workload]);
  const own = published.filter((_, index) => workloadOf(index) === workload);
  const stored = own.slice(round * UNSEEN, (round + 1) * UNSEEN);
  const never = stored.map((_, index) => textNamed(workload, `T${round}x${index}`));
  const [key] = keys;
  const requests = {
    'known text': requestsBy('text', workload, known, key),
    'known id': requestsBy('id', workload, known, key),
    'unseen text': requestsBy('text', workload, never, key),
    'unseen id': requestsBy('id', workload, stored, key),
  };
  const costs = new Map<string, Cost>();
  for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed())
    costs.set(side, await costOf(server, requests[side]));
  const lookUpMs = await lookUp(stored.map(idOf));
  return { ...(Object.fromEntries(costs) as Record<(typeof SIDES)[number], Cost>), lookUpMs };
}

async function requestCosts(cleanup: AsyncDisposableStack, workspace: Workspace): Promise<string> {
  const running = await startContestant(cleanup, workspace, PRODUCT, { args: ['--count'] });
  const config = loadConfig({ DATABASE_URL: workspace.urlFor('look-ups') });
  const database = await openDatabase({ config, log: createLogger({ level: 'warn', pretty: false }) });
  const rounds = new Map<Asked, Round[]>(ASKED.map((workload) => [workload, []]));
  // The first round compiles.
  for (let round = 0; round <= ROUNDS; round += 1) {
    progress(`round ${round} of ${ROUNDS}`);
    for (const workload of ASKED) {
      const figures = await roundOf(running, workload, round, (ids) => costOfLookUp(database, ids));
      if (round > 0) rounds.get(workload)?.push(figures);
    }
  }
  await database.close();
  await running.server.stop();
  const rows = [...rounds].map(([workload, of]) => {
    const middle = (pick: (round: Round) => number) => figure(median(of.map(pick)));
    return [
      workload,
      ...SIDES.map((side) => middle((round) => round[side].cpuMs)),
      middle(({ lookUpMs }) => lookUpMs),
      spread(of.map((round) => round['known id'].cpuMs / round['known text'].cpuMs)),
      spread(of.map((round) => round['unseen id'].cpuMs / (round['known text'].cpuMs + round.lookUpMs))),
      spread(of.map((round) => round['unseen id'].cpuMs / round['unseen text'].cpuMs)),
      ...SIDES.map((side) => middle((round) => round[side].statements)),
    ];
  });
  const ratios = ['known id ÷ known text', 'unseen id ÷ known text and look-up', 'unseen id ÷ unseen text'];
  const header = ['', ...SIDES, 'look-up', ...ratios, ...SIDES.map((side) => `${side}: statements`)];
  return table(header, rows);
}

async function memory(cleanup: AsyncDisposableStack, workspace: Workspace): Promise<string> {
  const options: StartOptions = { nodeArgs: ['--expose-gc'] };
  const { server } = await startContestant(cleanup, workspace, PRODUCT, options);
  const rows: string[][] = [];
  const look = async (documents: number) => {
    const { heapBytes, rssBytes } = await server.memory();
    rows.push([documents.toLocaleString('en'), megabytes(heapBytes), megabytes(rssBytes)]);
    progress(`memory after ${rows.at(-1)?.join(', ')}`);
  };
  const ask = (from: number, to: number) =>
    sendAll(
      server.port,
      published
        .slice(from, to)
        .flatMap((text, index) => requestsBy('id', workloadOf(from + index), [text], workspace.keys[0])),
    );
  await look(0);
  await ask(0, FEW);
  await look(FEW);
  await ask(FEW, DOCUMENTS);
  await look(DOCUMENTS);
  await server.stop();
  return table(['documents run', 'heap after a collection', 'resident'], rows);
}

async function starts(cleanup: AsyncDisposableStack, full: Workspace): Promise<string> {
  const none = await openWorkspace(cleanup, { size: SIZE, furnish: tagPosts });
  const figures = new Map([none, full].map((workspace) => [workspace, [] as [number, number][]]));
  for (let turn = 0; turn <= STARTS; turn += 1)
    for (const workspace of turn % 2 === 0 ? [none, full] : [full, none]) {
      const startMs = performance.now();
      const { server } = await startContestant(cleanup, workspace, PRODUCT);
      const elapsedMs = performance.now() - startMs;
      if (turn > 0) figures.get(workspace)?.push([elapsedMs, (await server.usage()).cpuMs]);
      await server.stop();
    }
  const [without = [], ...[withAll = []]] = [...figures.values()];
  const rows = ['elapsed, ms', 'CPU, ms'].map((name, at) => [
    name,
    figure(median(without.map((values) => values[at] as number))),
    figure(median(withAll.map((values) => values[at] as number))),
    spread(withAll.map((values, turn) => (values[at] as number) / (without[turn]?.[at] as number))),
  ]);
  return table(['start', 'none published', `${DOCUMENTS.toLocaleString('en')} published`, 'ratio'], rows);
}

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: SIZE, furnish: tagPosts });
  const url = workspace.urlFor('admin');
  const thousand = Array.from({ length: PUBLISHED_AT_ONCE }, (_, index) =>
    textNamed(workloadOf(index), `Q${index}`),
  );
  const publishMs = [
    await publishTexts(url, [...ASKED.map((workload) => GRAPHQL[workload]), ...thousand.slice(3)], 'first'),
  ];
  progress(`published ${PUBLISHED_AT_ONCE}: ${figure(publishMs[0])} ms`);
  publishMs.push(await publishTexts(url, published, 'second'));
  progress(`published ${DOCUMENTS}: ${figure(publishMs[1])} ms`);
  const text = [
    await requestCosts(cleanup, workspace),
    await memory(cleanup, workspace),
    await starts(cleanup, workspace),
    `publish ms ${publishMs.map(figure)}`,
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ].join('\n\n');
  publish('Published documents', text, quick);
});
