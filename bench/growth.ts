/**
 * How cost grows: with the length of lists and with nesting, with look-ahead and on loaders, and with the number of
 * posts in the table.
 */
import { encodeCursor } from '../src/graphql/pagination/cursor.ts';
import { PRODUCT, PRODUCT_ON_LOADERS, type Running, startContestant } from './contestants.ts';
import { growPosts } from './data/content.ts';
import { openWorkspace, type Workspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { postRequest } from './harness/connection.ts';
import { closedLoop, once } from './harness/load.ts';
import { backendTimes, spentMs } from './harness/process-time.ts';
import type { ServerProcess } from './harness/server-process.ts';
import { figure, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';

const quick = process.argv.includes('--quick');
const LIST_SIZES = [1, 10, 100];
const TABLE_SIZES = quick ? [5_000, 10_000, 20_000] : [10_000, 100_000, 1_000_000];
const USERS = quick ? 1_000 : 10_000;
const WARM_UP_MS = quick ? 200 : 1_500;
const DURATION_MS = quick ? 300 : 3_000;
const MAX_OFFSET = 10_000;
const COUNTED_TURNS = 5;
/** How far down the table the cursor points. */
const DEEP = 0.9;

/** Each level is inside the one before; only the outermost list changes its length. */
const NESTED: readonly ((limit: number) => string)[] = [
  (limit) => `{ posts(limit: ${limit}) { title } }`,
  (limit) => `{ posts(limit: ${limit}) { title author { name } } }`,
  (limit) => `{ posts(limit: ${limit}) { title author { name posts(limit: 5) { title } } } }`,
  (limit) =>
    `{ posts(limit: ${limit}) { title author { name posts(limit: 5) { title comments(limit: 2) { body } } } } }`,
];

interface Cost {
  readonly statements: number;
  readonly nodeCpuMs: number;
  readonly databaseCpuMs: number;
  readonly p50Ms: number;
}

/** The least of a few: twice a second a request looks its key up as well, and wake-ups come in between. */
async function statementsOf(server: ServerProcess, request: Buffer): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < COUNTED_TURNS; turn += 1) {
    const before = await server.usage();
    await once(server.port, request);
    const after = await server.usage();
    least = Math.min(least, after.statements - before.statements);
  }
  return least;
}

/** One request after another: what one costs when nothing else goes on. */
async function costOf(
  workspace: Workspace,
  { server, applicationName }: Running,
  query: string,
): Promise<Cost> {
  const request = postRequest('/graphql', { query }, { authorization: `Bearer ${workspace.keys[0]}` });
  const load = { port: server.port, requests: [request], connections: 1 };
  await closedLoop({ ...load, durationMs: WARM_UP_MS });
  const statements = await statementsOf(server, request);
  const backends = await backendTimes(workspace.admin, applicationName);
  const before = await server.usage();
  const { count, p50Ms } = await closedLoop({ ...load, durationMs: DURATION_MS });
  const after = await server.usage();
  return {
    statements,
    nodeCpuMs: (after.cpuMs - before.cpuMs) / count,
    databaseCpuMs: spentMs(backends, await backendTimes(workspace.admin, applicationName)) / count,
    p50Ms,
  };
}

async function listGrowth(workspace: Workspace, running: readonly Running[]): Promise<string> {
  const rows: string[][] = [];
  for (const [index, query] of NESTED.entries())
    for (const limit of LIST_SIZES) {
      progress(`nesting ${index + 1}, lists of ${limit}`);
      const cells = [`${index + 1}`, `${limit}`];
      for (const entry of running) {
        const { statements, nodeCpuMs, p50Ms } = await costOf(workspace, entry, query(limit));
        cells.push(`${statements}`, figure(nodeCpuMs), figure(p50Ms));
      }
      rows.push(cells);
    }
  const columns = running.flatMap(({ contestant: { name } }) =>
    ['statements', 'node CPU, ms', 'p50, ms'].map((column) => `${name}: ${column}`),
  );
  return table(['nesting', 'outermost list', ...columns], rows);
}

/** A cursor that names the post at a place of the order. */
async function cursorAt({ admin }: Workspace, place: number): Promise<string> {
  const { rows } = await admin.query<{ id: string; createdAt: Date }>(
    'SELECT id, created_at AS "createdAt" FROM posts ORDER BY created_at DESC, id DESC OFFSET $1 LIMIT 1',
    [place],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`there is no post at ${place}`);
  return encodeCursor(row);
}

async function tableGrowth(workspace: Workspace, running: Running): Promise<string> {
  const rows: string[][] = [];
  let posts = TABLE_SIZES[0] ?? 0;
  for (const size of TABLE_SIZES) {
    if (size > posts) await growPosts(workspace.admin, posts, size);
    posts = size;
    progress(`${size} posts`);
    // The last page of the smallest table would be empty at the greatest offset there is.
    const offset = Math.min(MAX_OFFSET, size - 100);
    const after = await cursorAt(workspace, Math.floor(size * DEEP));
    const pages: readonly [string, string][] = [
      ['first page', '{ posts(limit: 20) { id title } }'],
      [`offset ${offset.toLocaleString('en')}`, `{ posts(limit: 20, offset: ${offset}) { id title } }`],
      ['cursor, first page', '{ postsConnection(first: 20) { nodes { id title } } }'],
      [
        `cursor, ${DEEP * 100} % down`,
        `{ postsConnection(first: 20, after: "${after}") { nodes { id title } } }`,
      ],
    ];
    for (const [page, query] of pages) {
      const { statements, nodeCpuMs, databaseCpuMs, p50Ms } = await costOf(workspace, running, query);
      const cost = [nodeCpuMs, databaseCpuMs, p50Ms].map(figure);
      rows.push([size.toLocaleString('en'), page, `${statements}`, ...cost]);
    }
  }
  return table(['posts', 'page of 20', 'statements', 'node CPU, ms', 'database CPU, ms', 'p50, ms'], rows);
}

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: { users: USERS, posts: TABLE_SIZES[0] ?? 0 } });
  // Lists of 100, four deep, cost more than one operation may by default.
  const options = { args: ['--count'], settings: { MAX_COMPLEXITY: '1000000' } };
  const running = [
    await startContestant(cleanup, workspace, PRODUCT, options),
    await startContestant(cleanup, workspace, PRODUCT_ON_LOADERS, options),
  ] as const;
  const tables = await tableGrowth(workspace, running[0]);
  const lists = await listGrowth(workspace, running);
  const text = [
    'One connection, one request after another.',
    `Nesting: 1 \`posts\`, 2 \`posts { author }\`, 3 \`posts { author { posts(limit: 5) } }\`, 4 \`posts { author { posts(limit: 5) { comments(limit: 2) } } }\`. ${posts(TABLE_SIZES.at(-1))}`,
    lists,
    'Reading by offset against reading by cursor, as the table grows:',
    tables,
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ].join('\n\n');
  publish('Growth', text, quick);
});

function posts(count = 0): string {
  return `${count.toLocaleString('en')} posts of ${USERS.toLocaleString('en')} users.`;
}
