/**
 * What it takes to bring the service down: 100 clients that send the most expensive query the limits allow, then
 * clients that send a byte at a time and connections that say nothing. On both databases, with the default settings.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { floodWithConnections } from './abuse/connections.ts';
import { type Abused, mostExpensive, siege } from './abuse/siege.ts';
import { PRODUCT, startContestant } from './contestants.ts';
import { prepare, productionSettings } from './data/service-data.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { startServer } from './harness/server-process.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';

const quick = process.argv.includes('--quick');
const CLIENTS = 100;
const DURATION_MS = quick ? 5_000 : 60_000;
const POSTGRES_SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
/** The embedded database is for small ones. */
const EMBEDDED_SIZE = quick ? { users: 500, posts: 5_000 } : { users: 1_000, posts: 20_000 };

async function onEmbedded(cleanup: AsyncDisposableStack): Promise<Abused> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-abuse-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const settings = { DATA_DIR: folder };
  const { keys } = await prepare({ settings, size: EMBEDDED_SIZE, keys: CLIENTS + 1, limited: true });
  const server = await startServer({ file: PRODUCT.file, env: { ...productionSettings(), ...settings } });
  cleanup.defer(() => server.stop());
  return { server, keys };
}

async function abuse(title: string, abused: Abused): Promise<string> {
  progress(`${title}: looking for the most expensive query`);
  const worst = await mostExpensive(abused);
  progress(`${title}: ${CLIENTS} clients`);
  const besieged = await siege(abused, worst, { clients: CLIENTS, durationMs: DURATION_MS });
  progress(`${title}: slow and idle connections`);
  const flooded = await floodWithConnections(abused);
  await abused.server.stop();
  return [`### ${title}`, besieged, flooded].join('\n\n');
}

await withCleanup(async (cleanup) => {
  const workspace = await openWorkspace(cleanup, { size: POSTGRES_SIZE, keys: CLIENTS + 1, limited: true });
  const { server } = await startContestant(cleanup, workspace, PRODUCT);
  const parts = [
    await abuse('PostgreSQL', { server, keys: workspace.keys }),
    await abuse('Embedded database', await onEmbedded(cleanup)),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ];
  const about = `Default settings, an account and a key for each of the ${CLIENTS} clients, each sending its next request as soon as the last is answered, and one more account for an ordinary client, for ${DURATION_MS / 1000} s.`;
  publish('Abuse', [about, ...parts].join('\n\n'), quick);
});
