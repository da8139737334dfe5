import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PRODUCT, startContestant } from '../contestants.ts';
import { prepare, productionSettings } from '../data/service-data.ts';
import { openWorkspace } from '../data/workspace.ts';
import { startServer } from '../harness/server-process.ts';
import { makeAccounts } from './accounts.ts';
import type { Scene } from './trial.ts';

/** Half of a container of 1 GiB is for the old generation (V8's Heap::HeapSizeFromPhysicalMemory). */
const HEAP_MEGABYTES = 512;
const NODE_ARGS = ['--expose-gc', `--max-old-space-size=${HEAP_MEGABYTES}`];
/** As the image and the unit set it (docs/operate/operations.md). */
export const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: '1048576' };
const SETTINGS = {
  ...ALLOCATOR,
  // What an attacker may use where it is on.
  INTROSPECTION: 'true',
  // Its turn comes again after more than that, with nothing stored.
  IDEMPOTENCY_RETENTION_HOURS: '0.03',
};
const ATTACKERS = 40;

/** The service on one core, the load on the other. */
export function pin(pid: number, core: number): void {
  spawnSync('taskset', ['-acp', String(core), String(pid)]);
}

async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => entry.isFile())
    // One that has gone meanwhile takes no room.
    .map(({ parentPath, name }) =>
      stat(join(parentPath, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

async function startEmbedded(cleanup: AsyncDisposableStack): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-adversary-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const place = { DATA_DIR: folder };
  await prepare({ settings: place, size: { users: 1_000, posts: 20_000 }, keys: 1, limited: true });
  const accounts = await makeAccounts(place, ATTACKERS);
  const env = { ...productionSettings(), ...SETTINGS, ...place };
  const service = await startServer({ file: PRODUCT.file, env, nodeArgs: NODE_ARGS });
  cleanup.defer(() => service.stop());
  return { service, accounts, stored: () => folderBytes(folder), tidy: async () => undefined };
}

async function startOnPostgres(cleanup: AsyncDisposableStack): Promise<Scene> {
  const size = { users: 2_000, posts: 50_000 };
  const workspace = await openWorkspace(cleanup, { size, keys: 1, limited: true });
  const accounts = await makeAccounts({ DATABASE_URL: workspace.urlFor('accounts') }, ATTACKERS);
  const options = { settings: SETTINGS, nodeArgs: NODE_ARGS };
  const { server: service } = await startContestant(cleanup, workspace, PRODUCT, options);
  const { admin } = workspace;
  return {
    service,
    accounts,
    async stored() {
      const { rows } = await admin.query<{ bytes: number }>(
        'SELECT pg_database_size(current_database())::float8 AS bytes',
      );
      return rows[0]?.bytes ?? 0;
    },
    // What the service has deleted is room for the next ones; nobody else vacuums here.
    tidy: async () => void (await admin.query('VACUUM idempotency_keys, oauth_records, sessions')),
  };
}

/** Starts the service on PostgreSQL or on the embedded database, with accounts in it. */
export const startScene = (cleanup: AsyncDisposableStack, embedded: boolean): Promise<Scene> =>
  embedded ? startEmbedded(cleanup) : startOnPostgres(cleanup);
