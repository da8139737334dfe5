/**
 * Published documents: what a request by an id costs beside one by a text, known and never seen, and what 100,000 of
 * them do to memory and to the start.
 */
import { loadConfig } from '../src/platform/config.ts';
import { type Database, openDatabase } from '../src/platform/db/database.ts';
import { createLogger } from '../src/platform/log.ts';
import { PRODUCT, type Running, startContestant } from './contestants.ts';
import { tagPosts } from './data/tags.ts';
import { openWorkspace, type Workspace } from './data/workspace.ts';
import { costOf, costOfLookUps, sendAll } from './documents/cost.ts';
import { ASKED, type Asked, idOf, publishTexts, requestBy, textNamed } from './documents/published.ts';
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
const ROUNDS = quick ? 4 : 16;
const STARTS = quick ? 2 : 12;
/** Requests at a time: of known ones eight times in a round, of the others twice. */
const AT_A_TIME = quick ? 200 : 500;

const workloadOf = (index: number): Asked => ASKED[index % ASKED.length] as Asked;
/** The last quarter has SQL of its own. */
const TEXTS = Array.from({ length: DOCUMENTS }, (_, index) => {
  const text = textNamed(workloadOf(index), `P${index}`);
  return index < DOCUMENTS * 0.75 ? text : text.replace('title', `p${index}: title`);
});

const KINDS = ['known text', 'known id', 'unseen text', 'unseen id'] as const;
type Kind = (typeof KINDS)[number];
/** Those that differ the least by turns, four times. */
const ORDER: readonly Kind[] = [
  ...([0, 1, 0, 1, 1, 0, 1, 0] as const).map((kind) => KINDS[kind]),
  'unseen text',
  'unseen id',
];

/** CPU for a request, in ms, and the statements of an unseen id. */
type Round = Record<Kind | 'look-up' | 'statements', number>;

/** All kinds in this order, then in the other. */
async function roundOf(
  { server, workspace: { keys } }: Running,
  database: Database,
  workload: Asked,
  number: number,
): Promise<Round> {
  const round = Object.fromEntries([...KINDS, 'look-up', 'statements'].map((name) => [name, 0])) as Round;
  const own = TEXTS.filter((_, index) => workloadOf(index) === workload);
  for (const [turn, kinds] of [ORDER, ORDER.toReversed()].entries()) {
    const from = (2 * number + turn) * AT_A_TIME;
    const published = own.slice(from, from + AT_A_TIME);
    for (const kind of kinds) {
      const by = kind.endsWith('id') ? 'id' : 'text';
      const requests = published.map((text, index) => {
        const unseen = by === 'id' ? text : textNamed(workload, `T${from + index}`);
        return requestBy(by, workload, kind.startsWith('known') ? GRAPHQL[workload] : unseen, keys[0]);
      });
      const { cpuMs, statements } = await costOf(server, requests);
      round[kind] += cpuMs / AT_A_TIME / (kind.startsWith('known') ? 8 : 2);
      if (kind === 'unseen id') round.statements += statements / AT_A_TIME / 2;
    }
    round['look-up'] += (await costOfLookUps(database, published.map(idOf))) / AT_A_TIME / 2;
  }
  return round;
}

async function requestCosts(cleanup: AsyncDisposableStack, workspace: Workspace): Promise<string> {
  const running = await startContestant(cleanup, workspace, PRODUCT, { args: ['--count'] });
  const config = loadConfig({ DATABASE_URL: workspace.urlFor('look-ups') });
  const database = await openDatabase({ config, log: createLogger({ level: 'warn', pretty: false }) });
  const rows: string[][] = [];
  for (const workload of ASKED) {
    // The first round compiles.
    await roundOf(running, database, workload, 0);
    const rounds: Round[] = [];
    while (rounds.length < ROUNDS) rounds.push(await roundOf(running, database, workload, rounds.length + 1));
    progress(`${workload} is measured`);
    const middle = (name: keyof Round) => figure(median(rounds.map((round) => round[name])));
    rows.push([
      workload,
      ...([...KINDS, 'look-up'] as const).map(middle),
      spread(rounds.map((round) => round['known id'] / round['known text'])),
      spread(rounds.map((round) => round['unseen id'] / (round['known text'] + round['look-up']))),
      spread(rounds.map((round) => round['unseen id'] / (round['unseen text'] + round['look-up']))),
      middle('statements'),
    ]);
  }
  await database.close();
  await running.server.stop();
  const ratios = [
    'known id ÷ known text',
    'unseen id ÷ (known text + look-up)',
    'unseen id ÷ (unseen text + look-up)',
  ];
  return table(['', ...KINDS, 'look-up', ...ratios, 'statements of an unseen id'], rows);
}

/** The heap, and the resident memory, once some documents have run, each once, the last ones first. */
async function memory(cleanup: AsyncDisposableStack, workspace: Workspace): Promise<string[][]> {
  const { server } = await startContestant(cleanup, workspace, PRODUCT, { nodeArgs: ['--expose-gc'] });
  const rows: string[][] = [];
  let left = DOCUMENTS;
  for (const run of [0, FEW, DOCUMENTS]) {
    for (; left > DOCUMENTS - run; left -= 500) {
      const requests = TEXTS.slice(left - 500, left).map((text, index) =>
        requestBy('id', workloadOf(left - 500 + index), text, workspace.keys[0]),
      );
      await sendAll(server.port, requests);
    }
    const { heapBytes, rssBytes } = await server.memory();
    rows.push([
      `memory after ${run.toLocaleString('en')} have run`,
      `heap ${megabytes(heapBytes)}, resident ${megabytes(rssBytes)}`,
    ]);
    progress(rows.at(-1)?.join(': ') ?? '');
  }
  await server.stop();
  return rows;
}

interface Start {
  readonly elapsed: number;
  readonly CPU: number;
}

/** How long a start takes, beside that on a database without documents. */
async function starts(cleanup: AsyncDisposableStack, all: Workspace): Promise<string[][]> {
  const none = await openWorkspace(cleanup, { size: SIZE, furnish: tagPosts });
  const start = async (workspace: Workspace): Promise<Start> => {
    const startMs = performance.now();
    const { server } = await startContestant(cleanup, workspace, PRODUCT);
    const elapsed = performance.now() - startMs;
    const { cpuMs } = await server.usage();
    await server.stop();
    return { elapsed, CPU: cpuMs };
  };
  await start(none);
  const took = { none: [] as Start[], all: [] as Start[] };
  for (let pair = 0; pair < STARTS; pair += 1)
    for (const which of pair % 2 === 0 ? (['none', 'all'] as const) : (['all', 'none'] as const))
      took[which].push(await start(which === 'none' ? none : all));
  return (['elapsed', 'CPU'] as const).map((name) => {
    const [without, withAll] = [took.none, took.all].map((of) => figure(median(of.map((one) => one[name]))));
    const ratio = spread(took.all.map((one, pair) => one[name] / (took.none[pair]?.[name] ?? Number.NaN)));
    return [`start, ${name}`, `${withAll} ms, ${without} ms without documents; ratio ${ratio}`];
  });
}

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: SIZE, furnish: tagPosts });
  const names = Array.from({ length: 1_000 - ASKED.length }, (_, index) => textNamed('W9', `Q${index}`));
  const url = workspace.urlFor('admin');
  const published = [
    [
      'publishing 1,000',
      `${figure(await publishTexts(url, [...ASKED.map((workload) => GRAPHQL[workload]), ...names]))} s`,
    ],
    [`publishing ${DOCUMENTS.toLocaleString('en')} more`, `${figure(await publishTexts(url, TEXTS))} s`],
  ];
  progress(published.join('; '));
  const costs = await requestCosts(cleanup, workspace);
  const rows = [...published, ...(await memory(cleanup, workspace)), ...(await starts(cleanup, workspace))];
  const text = [
    `\`npm run bench -- documents\`. Node CPU, ms a request, of one service asked by 32 connections, ${8 * AT_A_TIME} known and ${2 * AT_A_TIME} unseen requests of each kind a round, ${AT_A_TIME} at a time by turns: median of ${ROUNDS} rounds. Ratios: median of those within a round (quartiles). Unseen ones differ from the workload in the name of the operation, so that the SQL is known; the look-up is a row by its primary key. A document of an unseen id is parsed and planned like an unseen text; both are kept from their second use on. Aims: a known id at most 1.05 times the known text, an unseen one at most the known text and a look-up.`,
    costs,
    `${DOCUMENTS.toLocaleString('en')} published documents, a quarter of them with SQL of its own. Aims: bounded memory, a start that is not slower (${STARTS} pairs), 1,000 published within 10 s.`,
    table(['what', 'figure'], rows),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ].join('\n\n');
  publish('Published documents', text, quick);
});
