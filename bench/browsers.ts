/**
 * Requests as the pages of browsers send them, beside the same without their headers: the service, the floor and
 * Mercurius with the same duties, all with CORS and compression, interleaved in rounds.
 *
 *   npm run bench -- browsers [--quick]
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type pg from 'pg';
import { hashSecret } from '../src/auth/secrets.ts';
import { FLOOR, MERCURIUS_SAME_DUTIES, PRODUCT, type Running, startContestant } from './contestants.ts';
import { tagPosts } from './data/tags.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { median } from './harness/load.ts';
import { measure } from './harness/measure.ts';
import { figure, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';
import { BARE, browserRequests, OTHER_ORIGIN, OWN_ORIGIN, WAYS, type Way } from './workloads/browser.ts';
import { ABOUT, type Workload } from './workloads.ts';

const quick = process.argv.includes('--quick');
const SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
const CONNECTIONS = 32;
const ROUNDS = quick ? 2 : 7;
const FIRST_WARM_UP_MS = quick ? 400 : 3_000;
const WARM_UP_MS = quick ? 200 : 500;
const DURATION_MS = quick ? 500 : 1_200;
const WORKLOADS: readonly Workload[] = ['W1', 'W2', 'W5', 'W9'];
const CONTESTANTS = [FLOOR, PRODUCT, MERCURIUS_SAME_DUTIES];
/** The most that headers may add to the ratio to the floor, without and with compression. */
const AIMS = { cookie: 1.1, key: 1.4 };
const SETTINGS = {
  CORS_ORIGINS: OTHER_ORIGIN,
  PUBLIC_URL: OWN_ORIGIN,
  RATE_LIMIT_BURST: '1000000',
  RATE_LIMIT_PER_SECOND: '1000000',
  BROWSER_ORIGINS: `${OWN_ORIGIN},${OTHER_ORIGIN}`,
};

/** One browser for each connection, each of another user. */
async function signIn(admin: pg.Client, userIds: readonly string[]): Promise<string[]> {
  const secrets = userIds.map(() => randomBytes(32).toString('base64url'));
  for (const [index, secret] of secrets.entries())
    await admin.query(
      `INSERT INTO sessions (id, user_id, hash, last_seen_at, expires_at, absolute_expires_at)
       VALUES ($1, $2, $3, now(), now() + interval '1 day', now() + interval '1 day')`,
      [randomUUID(), userIds[index], hashSecret(secret)],
    );
  return secrets;
}

const nameOf = (running: Running, workload: Workload, way: Way) =>
  `${running.contestant.name} ${workload} ${way.name}`;

await withCleanup(async (cleanup) => {
  progress(`loading ${SIZE.users} users and ${SIZE.posts} posts`);
  const workspace = await openWorkspace(cleanup, { size: SIZE, furnish: tagPosts, keys: CONNECTIONS });
  const sessions = await signIn(workspace.admin, workspace.readerIds.slice(0, CONNECTIONS));
  const running: Running[] = [];
  for (const contestant of CONTESTANTS)
    running.push(await startContestant(cleanup, workspace, contestant, { settings: SETTINGS }));
  /** Node CPU a request, in each round. */
  const cpuMs = new Map<string, number[]>();
  for (let round = 1; round <= ROUNDS; round += 1)
    for (const workload of WORKLOADS) {
      progress(`round ${round} of ${ROUNDS}, ${workload}`);
      for (const way of WAYS)
        for (const server of running) {
          const { nodeCpuMs } = await measure(workspace, server, {
            requests: browserRequests(workload, way, server.contestant, { ...workspace, sessions }),
            connections: CONNECTIONS,
            warmUpMs: round === 1 ? FIRST_WARM_UP_MS : WARM_UP_MS,
            durationMs: DURATION_MS,
          });
          const name = nameOf(server, workload, way);
          cpuMs.set(name, [...(cpuMs.get(name) ?? []), nodeCpuMs]);
        }
    }
  const [floor, product, mercurius] = running as [Running, Running, Running];
  const rounds = (server: Running, workload: Workload, way: Way) =>
    cpuMs.get(nameOf(server, workload, way)) ?? [];
  /** To the floor in the same round. */
  const ratios = (server: Running, workload: Workload, way: Way) =>
    rounds(server, workload, way).map(
      (own, round) => own / (rounds(floor, workload, way)[round] ?? Number.NaN),
    );
  const ratio = (server: Running, workload: Workload, way: Way) => median(ratios(server, workload, way));
  /** What the headers add to it, in the same round again. */
  const addedBy = (workload: Workload, way: Way) => {
    const bare = ratios(product, workload, BARE);
    return median(ratios(product, workload, way).map((own, round) => own / (bare[round] ?? Number.NaN)));
  };
  const rows = WORKLOADS.flatMap((workload) =>
    WAYS.map((way) => {
      const own = ratio(product, workload, way);
      const added = addedBy(workload, way);
      const others = ratio(mercurius, workload, way);
      return [
        way === BARE ? workload : `${workload}b`,
        way.name,
        figure(median(rounds(floor, workload, way))),
        figure(own),
        way === BARE ? '–' : `${figure(added)}${added <= AIMS[way.by] ? '' : ' (!)'}`,
        `${figure(others)}${own < others ? '' : ' (!)'}`,
      ];
    }),
  );
  const text = [
    `${SIZE.users.toLocaleString('en')} users, ${SIZE.posts.toLocaleString('en')} posts, ${CONNECTIONS} connections, pools of 10, median of ${ROUNDS} rounds of ${DURATION_MS / 1000} s. Each connection is another user. Headers as Chromium sends them. By cookie, answers are never compressed; by key, those over 1 KiB are. The floor and Mercurius answer with CORS and compress likewise. Aims: what the headers add to the ratio is at most ${AIMS.cookie} times by cookie and ${AIMS.key} by key, and the service is ahead of Mercurius; where not, (!).`,
    WORKLOADS.map((workload) => `- **${workload}**: ${ABOUT[workload]}`).join('\n'),
    table(
      [
        'workload',
        'as',
        'floor, Node CPU, ms a request',
        'product ÷ floor',
        'the same ÷ without headers',
        `${MERCURIUS_SAME_DUTIES.name} ÷ floor`,
      ],
      rows,
    ),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ].join('\n\n');
  publish('As browsers ask', text, quick);
});
