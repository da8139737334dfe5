/**
 * What it takes to bring the service down: 100 clients that send the worst operations that the limits accept, then
 * clients that send a byte at a time and connections that say nothing. On both databases, with the default settings.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { furnish } from './abuse/candidates.ts';
import { floodWithConnections } from './abuse/connections.ts';
import { type Abused, priceAll, priceTable, worstOf } from './abuse/prices.ts';
import { sieges } from './abuse/siege.ts';
import { PRODUCT, startContestant } from './contestants.ts';
import { prepare, productionSettings } from './data/service-data.ts';
import { openWorkspace, type Workspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { beforeOthers } from './harness/priority.ts';
import { backendTimes, busiestMs, spentMs, workerTimes } from './harness/process-time.ts';
import { startServer } from './harness/server-process.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';

const quick = process.argv.includes('--quick');
const CLIENTS = 100;
const DURATION_MS = quick ? 5_000 : 60_000;
const POSTGRES_SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
/** The embedded database is for small ones. */
const EMBEDDED_SIZE = quick ? { users: 500, posts: 5_000 } : { users: 1_000, posts: 20_000 };
const PREPARED = { keys: CLIENTS + 1, limited: true, furnish };

async function onPostgres(cleanup: AsyncDisposableStack, workspace: Workspace): Promise<Abused> {
  const { server, applicationName } = await startContestant(cleanup, workspace, PRODUCT);
  const look = () => backendTimes(workspace.admin, applicationName);
  return {
    server,
    keys: workspace.keys,
    async databaseMs(meanwhile) {
      const before = await look();
      await meanwhile();
      return spentMs(before, await look());
    },
  };
}

async function onEmbedded(cleanup: AsyncDisposableStack): Promise<Abused> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-abuse-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const settings = { DATA_DIR: folder };
  const { keys } = await prepare({ ...PREPARED, settings, size: EMBEDDED_SIZE });
  const server = await startServer({ file: PRODUCT.file, env: { ...productionSettings(), ...settings } });
  cleanup.defer(() => server.stop());
  return {
    server,
    keys,
    async databaseMs(meanwhile) {
      const before = workerTimes(server.pid);
      await meanwhile();
      return busiestMs(before, workerTimes(server.pid));
    },
  };
}

async function abuse(title: string, abused: Abused): Promise<string> {
  progress(`${title}: looking for the worst operations`);
  const priced = await priceAll(abused);
  const prices = priceTable(priced);
  progress(`${title}: ${CLIENTS} clients\n${prices}`);
  const options = { clients: CLIENTS, durationMs: DURATION_MS };
  const besieged = await beforeOthers(() => sieges(abused, worstOf(priced), options));
  progress(`${title}: slow and idle connections\n${besieged}`);
  const flooded = await beforeOthers(() => floodWithConnections(abused));
  await abused.server.stop();
  return [`### ${title}`, prices, besieged, flooded].join('\n\n');
}

await withCleanup(async (cleanup) => {
  const workspace = await openWorkspace(cleanup, { ...PREPARED, size: POSTGRES_SIZE });
  const parts = [
    await abuse('PostgreSQL', await onPostgres(cleanup, workspace)),
    await abuse('Embedded database', await onEmbedded(cleanup)),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ];
  const about = `Default settings, an account and a key for each of the ${CLIENTS} clients, each sending its next request as soon as the last is answered, for ${DURATION_MS / 1000} s, and one more account for an ordinary client, \`{ posts(limit: 5) { id title } }\`. Operations are as large as the limits accept; what one costs alone is CPU time, the least of a few. Beyond the aim, (!).`;
  publish('Abuse', [about, ...parts].join('\n\n'), quick);
});
