/**
 * What mutations that lock the same posts in opposite orders do to everybody else: an account that sends them within its
 * limits, beside another account's list query at a fixed rate.
 */
import { PRODUCT, startContestant } from './contestants.ts';
import { openWorkspace, type Workspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { postRequest } from './harness/connection.ts';
import { type Load, openLoop } from './harness/load.ts';
import { beforeOthers } from './harness/priority.ts';
import { Answers } from './locks/answers.ts';
import { figure, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';

const quick = process.argv.includes('--quick');
const SIZE = { users: 1_000, posts: 20_000 };
const PAIRS_PER_SECOND = [3, 10] as const;
const QUERY = '{ posts(limit: 20) { id title author { name } } }';
/** No multiple of the others, so that queries come at any moment of theirs. */
const QUERIES_PER_SECOND = 11.3;
const CONNECTIONS = 12;
const WARM_UP_MS = quick ? 1_000 : 3_000;
const DURATION_MS = quick ? 6_000 : 25_000;
/** PostgreSQL's sessions report what they count after a second of quiet at the latest. */
const STATISTICS_MS = 1_500;
const MAX_RATIO = 3;
const MUTATION =
  'mutation($first: ID!, $second: ID!) { a: createComment(postId: $first, body: "a") { id } b: createComment(postId: $second, body: "b") { id } }';

interface Phase {
  readonly alone: Load;
  readonly perSecond: number;
  readonly mutations: Answers;
  readonly mutationsP50Ms: number;
  readonly deadlocks: number;
  readonly queries: Answers;
  readonly query: Load;
}

async function deadlocks({ admin }: Workspace): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, STATISTICS_MS));
  const { rows } = await admin.query<{ deadlocks: string }>(
    'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
  );
  return Number(rows[0]?.deadlocks);
}

async function twoPosts({ admin }: Workspace): Promise<readonly [string, string]> {
  const { rows } = await admin.query<{ id: string }>('SELECT id FROM posts ORDER BY id LIMIT 2');
  const [first, second] = rows;
  if (first === undefined || second === undefined) throw new Error('there are no two posts');
  return [first.id, second.id];
}

function row({ alone, perSecond, mutations, mutationsP50Ms, deadlocks, queries, query }: Phase): string[] {
  const ratio = query.p50Ms / alone.p50Ms;
  return [
    `${perSecond}`,
    `${mutations}${mutations.onlyDoneOrToldToRetry ? '' : ' (!)'}`,
    figure(mutationsP50Ms),
    `${deadlocks}`,
    `${figure(alone.p50Ms)}, ${figure(query.p50Ms)}`,
    `${figure(alone.p99Ms)}, ${figure(query.p99Ms)}`,
    `${figure(ratio)}${ratio <= MAX_RATIO ? '' : ' (!)'}`,
    `${queries}${queries.onlyDone ? '' : ' (!)'}`,
  ];
}

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: SIZE, keys: 2, limited: true });
  const { server } = await startContestant(cleanup, workspace, PRODUCT);
  const { port } = server;
  const [attackerKey = '', readerKey = ''] = workspace.keys;
  const [p1, p2] = await twoPosts(workspace);
  const mutation = (first: string, second: string) =>
    postRequest(
      '/graphql',
      { query: MUTATION, variables: { first, second } },
      { authorization: `Bearer ${attackerKey}` },
    );
  const reading = {
    port,
    requests: [postRequest('/graphql', { query: QUERY }, { authorization: `Bearer ${readerKey}` })],
    connections: CONNECTIONS,
    perSecond: QUERIES_PER_SECOND,
  };

  /** Each order at half the rate and at the same moments, which is when they meet. */
  async function beside(pairsPerSecond: number): Promise<Phase> {
    const mutations = new Answers();
    const queries = new Answers();
    const attack = (first: string, second: string) =>
      openLoop({
        port,
        requests: [mutation(first, second)],
        connections: CONNECTIONS,
        perSecond: pairsPerSecond,
        durationMs: DURATION_MS,
        check: mutations.add,
      });
    const alone = await openLoop({ ...reading, durationMs: DURATION_MS });
    const before = await deadlocks(workspace);
    const [query, attacked] = await Promise.all([
      openLoop({ ...reading, durationMs: DURATION_MS, check: queries.add }),
      attack(p1, p2),
      attack(p2, p1),
    ]);
    return {
      alone,
      perSecond: 2 * pairsPerSecond,
      mutations,
      mutationsP50Ms: attacked.p50Ms,
      deadlocks: (await deadlocks(workspace)) - before,
      queries,
      query,
    };
  }

  await openLoop({ ...reading, durationMs: WARM_UP_MS });
  const rows: string[][] = [];
  for (const pairsPerSecond of PAIRS_PER_SECOND) {
    rows.push(row(await beforeOthers(() => beside(pairsPerSecond))));
    progress((rows.at(-1) ?? []).join(' | '));
  }
  const text = [
    `An account sends \`mutation { a: createComment(P1) b: createComment(P2) }\`, half of them with the posts in the opposite order and each such two at the same moment; another account sends \`${QUERY}\`, ${QUERIES_PER_SECOND} a second; default limits, ${DURATION_MS / 1000} s each. Alone is the query right before. Aim: its p50 at most ${MAX_RATIO} times its p50 alone, all of it answered, and mutations that succeed or are told to try again; beyond it, (!).`,
    table(
      [
        'mutations a second',
        'answered with',
        'p50, ms',
        'deadlocks',
        'query p50 alone and beside, ms',
        'query p99 alone and beside, ms',
        'p50 ÷ alone',
        'the query’s answers',
      ],
      rows,
    ),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ].join('\n\n');
  publish('Opposite orders', text, quick);
});
