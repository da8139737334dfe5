/**
 * Whether complexity is a price: what the database spends on random queries, by the points that they cost.
 *
 *   npm run bench -- prices [--quick]
 */
import { PRODUCT, type Running, startContestant } from './contestants.ts';
import { tidy } from './data/content.ts';
import { openWorkspace, type Workspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { postRequest } from './harness/connection.ts';
import { closedLoop, median, once, quantile } from './harness/load.ts';
import { backendTimes, spentMs } from './harness/process-time.ts';
import { type Known, randomQueries } from './prices/queries.ts';
import { figure, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';

const quick = process.argv.includes('--quick');
const QUERIES = quick ? 40 : 200;
/** Clients of the one connection to the database. */
const CONNECTIONS = 4;
const WARM_UP_MS = 100;
/** PostgreSQL plans a statement anew for the first five times. */
const WARM_UP_COUNT = 12;
const DURATION_MS = 100;
const ROUNDS = 3;
const SIZE = { users: 10_000, posts: 200_000 };
/** A query may take so many times what the median takes for its points. */
const TOLERANCE = 6;
const SHOWN = 5;
const SHOWN_LENGTH = 160;

/** A tag that most posts have, and one that few have. */
const TAGS = ['common', 'rare'] as const;

interface Priced {
  readonly query: string;
  readonly points: number;
  /** Database CPU time. */
  readonly microseconds: number;
}

const aPoint = ({ microseconds, points }: Priced) => microseconds / points;

async function tagPosts({ admin }: Workspace): Promise<void> {
  await admin.query(
    `INSERT INTO tags (post_id, name, position, created_at)
     SELECT id, $1, 1, created_at FROM posts WHERE hashtext(id::text) % 4 <> 0
     UNION ALL SELECT id, $2, 2, created_at FROM posts WHERE hashtext(id::text) % 100 = 0`,
    [...TAGS],
  );
  await tidy(admin);
}

/** What the service says that a query costs; undefined where it refuses it. */
async function pointsOf({ server }: Running, key: string, query: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${key}`, 'x-query-cost': '1' };
  const { status, text } = await once(server.port, postRequest('/graphql', { query }, headers));
  if (status !== 200) return undefined;
  const { extensions } = JSON.parse(text) as { extensions: { cost: { complexity: number } } };
  return extensions.cost.complexity;
}

/**
 * One statement after another on one connection, which is kept busy: what a query costs once its statement is prepared
 * and its plan is chosen, without the database being woken for each. The least of a few rounds.
 */
async function microsecondsOf(
  { admin }: Workspace,
  { server, applicationName }: Running,
  key: string,
  query: string,
): Promise<number> {
  const request = postRequest('/graphql', { query }, { authorization: `Bearer ${key}` });
  const load = { port: server.port, requests: [request], connections: CONNECTIONS };
  for (let count = 0; count < WARM_UP_COUNT; )
    count += (await closedLoop({ ...load, durationMs: WARM_UP_MS })).count;
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await backendTimes(admin, applicationName);
    const { count } = await closedLoop({ ...load, durationMs: DURATION_MS });
    const spent = spentMs(before, await backendTimes(admin, applicationName));
    least = Math.min(least, (spent * 1000) / count);
  }
  return least;
}

function report(priced: readonly Priced[], refused: number): string {
  const prices = priced.map(aPoint).toSorted((a, b) => a - b);
  const middle = median(prices);
  const within = prices.filter((price) => price <= TOLERANCE * middle).length;
  const others = priced.filter((query) => aPoint(query) > TOLERANCE * middle);
  const quantiles = (of: readonly Priced[]) => {
    const points = of.map((query) => query.points).toSorted((a, b) => a - b);
    return `${quantile(points, 0.5)}, ${points.at(-1)}`;
  };
  const summary = [
    ['queries', `${priced.length}; ${refused} more were refused for their complexity`],
    ['complexity, p50 and most', quantiles(priced)],
    ['database CPU a point, p50', `${figure(middle)} µs`],
    [
      'p95',
      `${figure(quantile(prices, 0.95))} µs, ${figure(quantile(prices, 0.95) / middle)} times the median`,
    ],
    [`within ${TOLERANCE} times the median`, `${figure((100 * within) / prices.length)} %`],
    ['complexity of the others, p50 and most', quantiles(others)],
  ];
  const dearest = priced
    .toSorted((a, b) => aPoint(b) - aPoint(a))
    .slice(0, SHOWN)
    .map(({ query, points, microseconds }) => [
      figure(microseconds / points / middle),
      `${points}`,
      figure(microseconds),
      `\`${query.length > SHOWN_LENGTH ? `${query.slice(0, SHOWN_LENGTH)} …` : query}\``,
    ]);
  return [
    'CPU time of the database for random queries, the same in every run, on one connection that is kept busy, by the points that `X-Query-Cost` gives them.',
    table(['what', 'figure'], summary),
    'The dearest for their points:',
    table(['times the median', 'complexity', 'database CPU, µs', 'query'], dearest),
  ].join('\n\n');
}

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: SIZE });
  await tagPosts(workspace);
  const [first = '', ...rest] = workspace.readerIds;
  const known: Known = { userIds: [first, ...rest], tags: TAGS };
  const running = await startContestant(cleanup, workspace, PRODUCT, {
    settings: { DATABASE_POOL_SIZE: '1' },
  });
  const [key = ''] = workspace.keys;
  const priced: Priced[] = [];
  let refused = 0;
  for (const query of randomQueries(known)) {
    if (priced.length === QUERIES) break;
    const points = await pointsOf(running, key, query);
    if (points === undefined) {
      refused += 1;
      continue;
    }
    priced.push({ query, points, microseconds: await microsecondsOf(workspace, running, key, query) });
    if (priced.length % 20 === 0) progress(`${priced.length} of ${QUERIES} queries`);
  }
  const said = versions(workspace.postgresVersion, workspace.postgresSettings);
  publish('Prices', [report(priced, refused), said].join('\n\n'), quick);
});
