import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { PRODUCT, startContestant } from '../contestants.ts';
import type { Size } from '../data/content.ts';
import { prepare, productionSettings } from '../data/service-data.ts';
import type { Workspace } from '../data/workspace.ts';
import { backendTimes, busiestMs, spentMs, workerTimes } from '../harness/process-time.ts';
import { startServer } from '../harness/server-process.ts';
import type { Searched } from './costs.ts';
import { furnish, type Known, keepCopies, lookAround, restore, sweep } from './known.ts';

/** A service to search on, and what an operation can name there. */
export interface Furnished {
  readonly searched: Searched;
  readonly known: Known;
}

/** The key is out of the way of rate limits; the limits of operations are those of the default settings. */
export const PREPARED = { keys: 1, furnish };
/** What production leaves off can be switched on, and is to be bounded then. */
const SETTINGS = { INTROSPECTION: 'true' };
const ARGUMENTS = ['--count'];
/** Rows that were written and taken away again slow down whoever comes after. */
const RESTORES_A_SWEEP = 10;

function restorer(admin: pg.Client): () => Promise<void> {
  let times = 0;
  return async () => {
    await restore(admin);
    times += 1;
    if (times % RESTORES_A_SWEEP === 0) await sweep(admin);
  };
}

export async function onPostgres(cleanup: AsyncDisposableStack, workspace: Workspace): Promise<Furnished> {
  const { admin, keys } = workspace;
  const known = await lookAround(admin);
  await keepCopies(admin, known);
  const options = { args: ARGUMENTS, settings: SETTINGS };
  const { server, applicationName } = await startContestant(cleanup, workspace, PRODUCT, options);
  const look = () => backendTimes(admin, applicationName);
  return {
    known,
    searched: {
      server,
      key: keys[0] ?? '',
      restore: restorer(admin),
      async databaseMs(meanwhile) {
        const before = await look();
        await meanwhile();
        return { ms: spentMs(before, await look()), isOfProcess: false };
      },
    },
  };
}

export async function onEmbedded(cleanup: AsyncDisposableStack, size: Size): Promise<Furnished> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-dearest-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const settings = { DATA_DIR: folder };
  const { keys } = await prepare({ ...PREPARED, settings, size });
  const server = await startServer({
    file: PRODUCT.file,
    args: ARGUMENTS,
    env: { ...productionSettings(), ...SETTINGS, ...settings },
  });
  cleanup.defer(() => server.stop());
  const admin = new pg.Client({ host: folder, user: 'postgres', database: 'postgres' });
  // The service takes its database along when it stops.
  admin.on('error', () => undefined);
  await admin.connect();
  const known = await lookAround(admin);
  await keepCopies(admin, known);
  return {
    known,
    searched: {
      server,
      key: keys[0] ?? '',
      restore: restorer(admin),
      async databaseMs(meanwhile) {
        const before = workerTimes(server.pid);
        await meanwhile();
        return { ms: busiestMs(before, workerTimes(server.pid)), isOfProcess: true };
      },
    },
  };
}
