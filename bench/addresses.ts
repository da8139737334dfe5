/**
 * What twenty addresses at once do to everybody else: they send more than their buckets allow to one route that answers
 * anybody, while people log in and programs get tokens from other addresses. The same alone is measured before each,
 * since the machine is not always the same.
 */
import { loadavg, setPriority } from 'node:os';
import { hashPassword } from '../src/auth/password.ts';
import { createOAuthClient } from '../src/oauth/records/clients.ts';
import { loadConfig } from '../src/platform/config.ts';
import { openDatabase } from '../src/platform/db/database.ts';
import { createLogger } from '../src/platform/log.ts';
import { type Flood, flood } from './anonymous/flood.ts';
import { ANONYMOUS, form, from } from './anonymous/requests.ts';
import { Statuses } from './anonymous/statuses.ts';
import { PRODUCT, startContestant } from './contestants.ts';
import { openWorkspace, type Workspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { postRequest } from './harness/connection.ts';
import { openLoop, quantile } from './harness/load.ts';
import { figure, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';

const quick = process.argv.includes('--quick');
const SIZE = { users: 1_000, posts: 20_000 };
const ADDRESSES = 20;
/** Of each address: its buckets give it 20. */
const PER_SECOND = 50;
/** So many that those who wait for an answer keep nobody from asking. */
const FLOOD_CONNECTIONS = 400;
const LOGINS_PER_SECOND = 4;
const TOKENS_PER_SECOND = 10;
const CONNECTIONS = 32;
const OTHERS = 10;
const PASSWORD = 'a passphrase of the benchmark';
const ALONE_MS = quick ? 2_000 : 10_000;
const BESIDE_MS = quick ? 3_000 : 60_000;
const MAX_RATIO = 5;
const FIRST = -15;
/** These answer from memory and take part in nothing that is shared. */
const LEFT_OUT = new Set([
  'GET /metrics, of this machine',
  'GET /.well-known/oauth-authorization-server',
  'preflight',
]);

/** What others saw. */
interface Seen {
  readonly latencies: readonly number[];
  readonly statuses: Statuses;
}

/** Requests of others, each from another address in turn: right passwords of accounts, and a client's right secret. */
async function others(workspace: Workspace): Promise<Record<'logins' | 'tokens', Buffer[]>> {
  const ids = workspace.readerIds.slice(0, OTHERS);
  const { rows } = await workspace.admin.query<{ email: string }>(
    'UPDATE users SET password_hash = $1 WHERE id = ANY($2) RETURNING email',
    [await hashPassword(PASSWORD), ids],
  );
  const config = loadConfig({ DATABASE_URL: workspace.urlFor('bench clients') });
  const database = await openDatabase({ config, log: createLogger({ level: 'warn', pretty: false }) });
  try {
    const client = await createOAuthClient(database, {
      owner: { id: workspace.authorId, role: 'member' },
      name: 'bench',
      grants: ['client_credentials'],
      scopes: ['posts:read'],
      redirectUris: [],
      public: false,
    });
    const address = (index: number) => `203.0.113.${index}`;
    const { bytes } = form('/oauth/token', {
      grant_type: 'client_credentials',
      client_id: client.client_id,
      client_secret: client.client_secret ?? '',
    });
    return {
      logins: rows.map(({ email }, index) =>
        from(address(index), postRequest('/login', { email, password: PASSWORD }, {})),
      ),
      tokens: rows.map((_, index) => from(address(100 + index), bytes)),
    };
  } finally {
    await database.close();
  }
}

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: SIZE });
  const { logins, tokens } = await others(workspace);
  const { server } = await startContestant(cleanup, workspace, PRODUCT, {
    settings: { TRUST_PROXY: '127.0.0.1' },
  });
  // What the generator is late with, because it got no processor, would be told of the server.
  if (process.getuid?.() === 0) setPriority(FIRST);
  const { port } = server;

  async function ask(requests: readonly Buffer[], perSecond: number, durationMs: number): Promise<Seen> {
    const statuses = new Statuses();
    const connections = CONNECTIONS;
    const load = await openLoop({ port, requests, connections, perSecond, durationMs, check: statuses.add });
    return { latencies: [...load.latencies], statuses };
  }

  const both = async (durationMs: number) => {
    const [login, token] = await Promise.all([
      ask(logins, LOGINS_PER_SECOND, durationMs),
      ask(tokens, TOKENS_PER_SECOND, durationMs),
    ]);
    return { login, token };
  };

  await both(ALONE_MS);
  const alone: { login: number[]; token: number[] } = { login: [], token: [] };
  const measured: { name: string; login: Seen; token: Seen; flooded: Flood }[] = [];
  for (const [group, { name, bytes }] of ANONYMOUS.filter((asked) => !LEFT_OUT.has(asked.name)).entries()) {
    const quiet = await both(ALONE_MS);
    alone.login.push(...quiet.login.latencies);
    alone.token.push(...quiet.token.latencies);
    // Addresses of its own, with full buckets.
    const requests = Array.from({ length: ADDRESSES }, (_, index) => from(`198.18.${group}.${index}`, bytes));
    const [seen, flooded] = await Promise.all([
      both(BESIDE_MS),
      flood({
        port,
        requests,
        connections: FLOOD_CONNECTIONS,
        perSecond: ADDRESSES * PER_SECOND,
        durationMs: BESIDE_MS,
      }),
    ]);
    measured.push({ name, ...seen, flooded });
    const p99 = ({ latencies }: Seen) => figure(quantile(latencies, 0.99));
    progress(
      `${name}: p99 ${p99(seen.login)} and ${p99(seen.token)} ms; ${seen.login.statuses}; ${seen.token.statuses}; ${flooded.statuses}; load ${loadavg()[0]?.toFixed(1)}`,
    );
  }

  const p99Alone = {
    login: quantile(
      alone.login.toSorted((a, b) => a - b),
      0.99,
    ),
    token: quantile(
      alone.token.toSorted((a, b) => a - b),
      0.99,
    ),
  };
  const columns = ({ latencies, statuses }: Seen, quiet: number) => {
    const p99Ms = quantile(latencies, 0.99);
    const ratio = p99Ms / quiet;
    return [
      figure(p99Ms),
      `${figure(ratio)}${ratio <= MAX_RATIO ? '' : ' (!)'}`,
      `${statuses}${statuses.of(503) === 0 ? '' : ' (!)'}`,
    ];
  };
  const rows = measured.map(({ name, login, token, flooded }) => [
    name,
    flooded.perSecond.toFixed(0),
    `${flooded.statuses}`,
    ...columns(login, p99Alone.login),
    ...columns(token, p99Alone.token),
  ]);
  const text = [
    `Log-ins with the right password at ${LOGINS_PER_SECOND} a second and client-credentials tokens at ${TOKENS_PER_SECOND} a second, from ${OTHERS} addresses each, beside ${ADDRESSES} addresses that send ${PER_SECOND} requests a second each without credentials, ${BESIDE_MS / 1000} s. Alone, ${ALONE_MS / 1000} s before each: p99 ${figure(p99Alone.login)} ms for log-ins, ${figure(p99Alone.token)} ms for tokens. Aim: p99 at most ${MAX_RATIO} times that, and no 503; beyond it, (!).`,
    table(
      [
        'flood',
        'a second',
        'answered with',
        'log-in p99, ms',
        '÷ alone',
        'log-ins’ answers',
        'token p99, ms',
        '÷ alone',
        'tokens’ answers',
      ],
      rows,
    ),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ].join('\n\n');
  publish('Floods of twenty addresses', text, quick);
});
