/**
 * What a hostile request costs the server, against the cheapest list query that is allowed. The server is a child
 * process over real HTTP, its CPU time is its own (`process.cpuUsage`, as /metrics reports it), and every text is new,
 * so that no cache of documents hides the cost. DATABASE_URL chooses PostgreSQL, where the database's own work is not
 * in the figures; without it the embedded database is, which makes the list query dearer.
 *
 *   npx node bench/probes.ts [requests]
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const REQUESTS = Number(process.argv[2] ?? 400);
const ROUNDS = 3;
const CONCURRENCY = 8;
const SCOPES = 'posts:read posts:write comments:write users:read';

interface Probe {
  readonly name: string;
  /** The body; `n` makes its text a new one. */
  readonly body: (n: string) => string;
  /** What it must be answered with: a code, or undefined for data. */
  readonly code: string | undefined;
}

const repeat = (count: number, part: (index: number) => string, separator = ' ') =>
  Array.from({ length: count }, (_, index) => part(index)).join(separator);
const operation = (query: string, variables?: unknown) => JSON.stringify({ query, variables });
const nested = (n: string, levels: number) =>
  operation(
    `query Q${n} { posts(limit: 1) { ${'author { posts(limit: 1) { '.repeat(levels)} id ${'} }'.repeat(levels)} } }`,
  );
const introspected = (n: string, levels: number) =>
  operation(
    `query Q${n} { __schema { types { ${'fields { type { '.repeat(levels)} name ${'} }'.repeat(levels)} } } }`,
  );
/** Each fragment spreads the one before twice: 2^count fields in a text that grows by a line. */
const exponential = (n: string, count: number) =>
  operation(
    `query Q${n} { posts(limit: 1) { ...F${count} } } fragment F0 on Post { id } ` +
      repeat(
        count,
        (i) =>
          `fragment F${i + 1} on Post { author { posts(limit: 1) { ...F${i} } } author { posts(limit: 1) { ...F${i} } } }`,
      ),
  );

const PROBES: readonly Probe[] = [
  {
    name: 'cheapest list',
    code: undefined,
    body: (n) => operation(`query Q${n} { posts(limit: 1) { id } }`),
  },
  {
    name: 'alias overload',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { ${repeat(300, (i) => `a${i}: __typename`)} }`),
  },
  {
    name: 'alias overload of lists',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { ${repeat(90, (i) => `a${i}: posts(limit: 1) { id }`)} }`),
  },
  {
    name: 'field duplication, leaf',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { posts(limit: 1) { ${repeat(980, () => 'id')} } }`),
  },
  {
    name: 'field duplication, list',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { ${repeat(110, () => 'posts(limit: 1) { id }')} }`),
  },
  {
    name: 'field duplication, nested',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { posts(limit: 1) { ${repeat(240, () => 'author { id }')} } }`),
  },
  {
    name: 'field duplication, inline fragments',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { posts(limit: 1) { ${repeat(240, () => '... { id }')} } }`),
  },
  {
    name: 'field duplication, spreads',
    code: 'COMPLEXITY_LIMIT',
    body: (n) =>
      operation(
        `query Q${n} { posts(limit: 1) { ${repeat(100, (i) => `...F${i}`)} } } ${repeat(100, (i) => `fragment F${i} on Post { id }`)}`,
      ),
  },
  {
    name: 'directive overload',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { posts(limit: 1) { id ${repeat(480, () => '@aa')} } }`),
  },
  {
    name: 'directive overload, known',
    code: 'COMPLEXITY_LIMIT',
    body: (n) =>
      operation(`query Q${n} { posts(limit: 1) { id ${repeat(140, () => '@include(if: true)')} } }`),
  },
  {
    name: 'circular fragments',
    code: 'GRAPHQL_VALIDATION_FAILED',
    body: (n) =>
      operation(
        `query Q${n} { posts(limit: 1) { ...A } } fragment A on Post { id ...B } fragment B on Post { id ...A }`,
      ),
  },
  {
    name: 'circular fragments, many',
    code: 'GRAPHQL_VALIDATION_FAILED',
    body: (n) =>
      operation(
        `query Q${n} { posts(limit: 1) { ...F0 } } ${repeat(100, (i) => `fragment F${i} on Post { id ...F${(i + 1) % 100} }`)}`,
      ),
  },
  { name: 'exponential fragments', code: 'DEPTH_LIMIT', body: (n) => exponential(n, 20) },
  { name: 'deep introspection', code: 'DEPTH_LIMIT', body: (n) => introspected(n, 4) },
  { name: 'deep introspection, deeper', code: 'DEPTH_LIMIT', body: (n) => introspected(n, 150) },
  { name: 'deep recursion', code: 'DEPTH_LIMIT', body: (n) => nested(n, 10) },
  { name: 'deep recursion, deeper', code: 'DEPTH_LIMIT', body: (n) => nested(n, 80) },
  {
    name: 'deep values',
    code: 'GRAPHQL_PARSE_FAILED',
    body: (n) => operation(`query Q${n} { post(id: ${'['.repeat(5000)}${']'.repeat(5000)}) { id } }`),
  },
  {
    name: 'too many tokens',
    code: 'GRAPHQL_PARSE_FAILED',
    body: (n) => operation(`query Q${n} { ${'posts(limit: 1) { id } '.repeat(5000)} }`),
  },
  {
    name: 'unknown fields',
    code: 'GRAPHQL_VALIDATION_FAILED',
    body: (n) => operation(`query Q${n} { posts(limit: 1) { ${repeat(40, (i) => `idd${i}`)} } }`),
  },
  {
    name: 'array batching',
    code: 'BAD_REQUEST',
    body: (n) => `[${repeat(1_000, (i) => operation(`query Q${n}x${i} { posts(limit: 1) { id } }`), ',')}]`,
  },
  {
    name: 'huge variables (past the body limit)',
    code: 'BAD_REQUEST',
    body: (n) => operation(`query Q${n} { posts(limit: 1) { id } }`, { a: 'x'.repeat(300_000) }),
  },
  {
    name: 'large variables, unused',
    code: undefined,
    body: (n) =>
      operation(`query Q${n} { posts(limit: 1) { id } }`, { a: Array.from({ length: 40_000 }, (_, i) => i) }),
  },
  {
    name: 'large variables, of the wrong type',
    code: 'BAD_USER_INPUT',
    body: (n) =>
      operation(`query Q${n}($limit: Int) { posts(limit: $limit) { id } }`, { limit: 'x'.repeat(250_000) }),
  },
];

interface Server {
  readonly origin: string;
  readonly key: string;
  stop(): Promise<void>;
}

function admin(settings: NodeJS.ProcessEnv, ...args: readonly string[]): Record<string, string> {
  const output = execFileSync(process.execPath, [join(ROOT, 'src/admin/main.ts'), ...args], {
    env: settings,
  });
  return JSON.parse(output.toString());
}

async function start(): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-probes-'));
  const settings = {
    ...process.env,
    NODE_ENV: 'test',
    DATA_DIR: folder,
    PORT: '0',
    RATE_LIMIT_BURST: '1000000',
    RATE_LIMIT_PER_SECOND: '1000000',
    LOG_LEVEL: 'info',
  };
  const email = `probe-${process.pid}@example.com`;
  admin(settings, 'migrate');
  admin(
    settings,
    'user',
    'create',
    '--name',
    'Probe',
    '--email',
    email,
    '--password',
    'a password of the probe',
  );
  const { key = '' } = admin(
    settings,
    'api-key',
    'create',
    '--user',
    email,
    '--name',
    'probe',
    '--scopes',
    SCOPES,
  );
  const child = spawn(process.execPath, [join(ROOT, 'src/main.ts')], {
    env: settings,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const origin = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stdout.on('data', (part: Buffer) => {
      said = (said + part.toString()).slice(-10_000);
      const match = /"origin":"([^"]+)"/.exec(said);
      if (match?.[1] !== undefined) resolve(match[1]);
    });
    exited.then(() => reject(new Error(said)), reject);
  });
  return {
    origin,
    key,
    async stop() {
      child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Probes that were not answered as they should be. */
const surprises = new Map<string, string>();

const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });

async function post({ origin, key }: Server, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${origin}/graphql`,
      {
        agent,
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve(text));
        response.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

async function cpuSeconds({ origin }: Server): Promise<number> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(text)?.[1]);
}

/** CPU milliseconds a request. */
async function measure(
  server: Server,
  { name, body, code }: Probe,
  count: number,
  round: string,
): Promise<number> {
  const bodies = Array.from({ length: count }, (_, index) => body(`${round}x${index}`));
  const before = await cpuSeconds(server);
  let next = 0;
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (let text = bodies[next++]; text !== undefined; text = bodies[next++]) {
        const answer = JSON.parse(await post(server, text)) as {
          errors?: { extensions: { code: string } }[];
        };
        const got = answer.errors?.[0]?.extensions.code;
        if (got !== code) surprises.set(name, `${got}, not ${code}: ${JSON.stringify(answer).slice(0, 200)}`);
      }
    }),
  );
  return (((await cpuSeconds(server)) - before) / count) * 1000;
}

const server = await start();
try {
  const costs = new Map<string, number>();
  for (const probe of PROBES) await measure(server, probe, Math.min(REQUESTS, 200), 'w');
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const probe of PROBES) {
      const cost = await measure(server, probe, REQUESTS, `r${round}`);
      costs.set(probe.name, Math.min(cost, costs.get(probe.name) ?? Number.POSITIVE_INFINITY));
    }
  }
  const cheapest = costs.get('cheapest list') ?? Number.NaN;
  for (const { name } of PROBES) {
    const cost = costs.get(name) ?? Number.NaN;
    process.stdout.write(`${name.padEnd(40)} ${cost.toFixed(3)} ms  ${(cost / cheapest).toFixed(2)}\n`);
  }
  for (const [name, surprise] of surprises) process.stdout.write(`${name}: answered ${surprise}\n`);
} finally {
  agent.destroy();
  await server.stop();
}
