/**
 * What compressed answers cost and save: bytes of a response and CPU time of the service for it, as it is, with gzip,
 * br and zstd. Interleaved in rounds on one server.
 */
import { PRODUCT, type Running, startContestant } from './contestants.ts';
import { openWorkspace, type Workspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { Connection, postRequest } from './harness/connection.ts';
import { median } from './harness/load.ts';
import { measure } from './harness/measure.ts';
import { figure, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';

const quick = process.argv.includes('--quick');
const SIZE = { users: 1_000, posts: 20_000 };
const CONNECTIONS = 16;
const ROUNDS = quick ? 2 : 10;
const WARM_UP_MS = 300;
const DURATION_MS = quick ? 300 : 1_000;

const QUERIES = {
  '5 titles': '{ posts(limit: 5) { id title } }',
  '20 posts with authors': '{ posts(limit: 20) { id title createdAt author { id name } } }',
  '20 posts with bodies': '{ posts(limit: 20) { id title body createdAt author { id name } } }',
  '100 posts with bodies': '{ posts(limit: 100) { id title body createdAt author { id name } } }',
} as const;
const CODINGS = ['as it is', 'gzip', 'br', 'zstd'] as const;

type Coding = (typeof CODINGS)[number];

interface Figures {
  readonly bytes: number;
  readonly cpuMs: number;
  readonly p50Ms: number;
}

function requestOf(query: string, coding: Coding, key: string): Buffer {
  const asked: Record<string, string> = coding === 'as it is' ? {} : { 'accept-encoding': coding };
  return postRequest('/graphql', { query }, { authorization: `Bearer ${key}`, ...asked });
}

async function bytesOf(port: number, request: Buffer): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const connection = await Connection.open(port, reject);
  connection.send(request, (status, body) =>
    status === 200 ? resolve(body.length) : reject(new Error(`answered with ${status}`)),
  );
  try {
    return await promise;
  } finally {
    connection.close();
  }
}

async function figuresOf(
  workspace: Workspace,
  running: Running,
  query: string,
  coding: Coding,
): Promise<Figures> {
  const request = requestOf(query, coding, workspace.keys[0] ?? '');
  const { nodeCpuMs, p50Ms } = await measure(workspace, running, {
    requests: [request],
    connections: CONNECTIONS,
    warmUpMs: WARM_UP_MS,
    durationMs: DURATION_MS,
  });
  return { bytes: await bytesOf(running.server.port, request), cpuMs: nodeCpuMs, p50Ms };
}

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: SIZE });
  const running = await startContestant(cleanup, workspace, PRODUCT);
  const measured = new Map<string, Figures[]>();
  for (let round = 0; round <= ROUNDS; round += 1) {
    progress(`round ${round} of ${ROUNDS}`);
    for (const [name, query] of Object.entries(QUERIES))
      for (const coding of CODINGS) {
        const figures = await figuresOf(workspace, running, query, coding);
        // The first is for the compiler.
        if (round > 0) measured.set(name + coding, [...(measured.get(name + coding) ?? []), figures]);
      }
  }
  const rows = Object.keys(QUERIES).flatMap((name) => {
    const plain = measured.get(`${name}as it is`) ?? [];
    return CODINGS.map((coding) => {
      const rounds = measured.get(name + coding) ?? [];
      const bytes = rounds[0]?.bytes ?? Number.NaN;
      const ratio = rounds.map(({ cpuMs }, round) => cpuMs / (plain[round]?.cpuMs ?? Number.NaN));
      return [
        name,
        coding,
        bytes.toLocaleString('en'),
        figure(bytes / (plain[0]?.bytes ?? Number.NaN)),
        figure(median(rounds.map(({ cpuMs }) => cpuMs))),
        figure(median(ratio)),
        figure(median(rounds.map(({ p50Ms }) => p50Ms))),
      ];
    });
  });
  const about = `Median of ${ROUNDS} rounds of ${DURATION_MS / 1000} s with ${CONNECTIONS} connections. Ratios are to the same answer as it is, in the same round. CPU of the service alone, in milliseconds a request. Answers up to 1,024 bytes stay as they are.`;
  const header = ['answer', 'coding', 'bytes', 'ratio', 'CPU', 'ratio', 'p50 ms'];
  publish(
    'Compression',
    [about, table(header, rows), versions(workspace.postgresVersion, workspace.postgresSettings)].join(
      '\n\n',
    ),
    quick,
  );
});
