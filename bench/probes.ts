/**
 * What a hostile request costs the server before it is rejected, against the cheapest list query that is allowed. Every
 * text is new, so that no cache of documents hides the cost. What counts is the CPU time of the service and of its
 * database together.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PRODUCT, startContestant } from './contestants.ts';
import { prepare, productionSettings } from './data/service-data.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { Connection, postRequest } from './harness/connection.ts';
import { backendTimes, spentMs } from './harness/process-time.ts';
import { type ServerProcess, startServer } from './harness/server-process.ts';
import { PROBES, type Probe } from './probes/probes.ts';
import { figure, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';

const quick = process.argv.includes('--quick');
const REQUESTS = quick ? 200 : 600;
const ROUNDS = quick ? 2 : 5;
const CONNECTIONS = 8;
const SIZE = { users: 100, posts: 1_000 };

interface Probed {
  readonly server: ServerProcess;
  readonly key: string;
  /** CPU time of the service and its database, in milliseconds. */
  readonly cpuMs: () => Promise<number>;
}

function checkResponse({ name, code }: Probe, body: Buffer): void {
  const { errors } = JSON.parse(body.toString()) as { errors?: { extensions: { code: string } }[] };
  const got = errors?.[0]?.extensions.code;
  if (got !== code)
    throw new Error(`${name} was answered with ${got}, not ${code}: ${body.toString('utf8', 0, 300)}`);
}

/** CPU milliseconds a request. */
async function measure(
  { server, key, cpuMs }: Probed,
  probe: Probe,
  count: number,
  round: string,
): Promise<number> {
  // One at a time, because some are larger than 1 MiB.
  const requestOf = (index: number) =>
    postRequest('/graphql', probe.body(`${round}x${index}`), { authorization: `Bearer ${key}` });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // What is past the limit of a body is answered before it is read, and its connection closed.
  const open = () => Connection.open(server.port, reject);
  let responded = 0;
  let next = 0;
  const again = (connection: Connection) => {
    if (next === count) return connection.close();
    connection.send(requestOf(next++), (_status, body) => {
      try {
        checkResponse(probe, body);
      } catch (error) {
        return reject(error);
      }
      responded += 1;
      if (responded === count) resolve();
      if (!probe.closes) return again(connection);
      connection.close();
      if (next < count) open().then(again, reject);
    });
  };
  const before = await cpuMs();
  for (let index = 0; index < CONNECTIONS; index += 1) again(await open());
  await promise;
  return ((await cpuMs()) - before) / count;
}

/** The least of several rounds, of each probe. */
async function probe(title: string, probed: Probed): Promise<Map<string, number>> {
  const costs = new Map<string, number>();
  for (let round = 0; round <= ROUNDS; round += 1) {
    progress(`${title}: round ${round} of ${ROUNDS}`);
    for (const one of PROBES) {
      const cost = await measure(probed, one, REQUESTS, `r${round}`);
      // The first is for the compiler.
      if (round > 0) costs.set(one.name, Math.min(cost, costs.get(one.name) ?? Number.POSITIVE_INFINITY));
    }
  }
  return costs;
}

async function onEmbedded(cleanup: AsyncDisposableStack): Promise<Probed> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-probes-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const settings = { DATA_DIR: folder };
  const { keys } = await prepare({ settings, size: SIZE, keys: 1 });
  const server = await startServer({ file: PRODUCT.file, env: { ...productionSettings(), ...settings } });
  cleanup.defer(() => server.stop());
  return { server, key: keys[0] ?? '', cpuMs: async () => (await server.usage()).cpuMs };
}

await withCleanup(async (cleanup) => {
  const workspace = await openWorkspace(cleanup, { size: SIZE });
  const { server, applicationName } = await startContestant(cleanup, workspace, PRODUCT);
  const cpuMs = async () => {
    const backends = await backendTimes(workspace.admin, applicationName);
    return (await server.usage()).cpuMs + spentMs(new Map(), backends);
  };
  const columns = [
    await probe('PostgreSQL', { server, key: workspace.keys[0] ?? '', cpuMs }),
    await probe('embedded database', await onEmbedded(cleanup)),
  ];
  const [kept, fresh] = PROBES;
  const ratio = (costs: Map<string, number>, { name, closes }: Probe) =>
    figure((costs.get(name) ?? Number.NaN) / (costs.get((closes ? fresh : kept)?.name ?? '') ?? Number.NaN));
  const rows = PROBES.map((one) => [
    one.name,
    one.code ?? 'answered',
    ...columns.map((costs) => ratio(costs, one)),
  ]);
  const about =
    'CPU time of the service and its database for a request, as a multiple of that for `{ posts(limit: 1) { id } }`. Every text is new. What ends its connection is held against that query on a new connection.';
  const header = ['request', 'refused with', 'PostgreSQL', 'embedded database'];
  const said = versions(workspace.postgresVersion, workspace.postgresSettings);
  publish('Probes', [about, table(header, rows), said].join('\n\n'), quick);
});
