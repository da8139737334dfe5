import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Size } from './content.ts';
import { startPostgres } from './postgres.ts';
import { type Prepared, type PrepareOptions, prepare } from './service-data.ts';

/** A database full of posts, and a connection that looks on. */
export interface Workspace extends Prepared {
  readonly admin: pg.Client;
  readonly postgresVersion: string;
  readonly postgresSettings: string;
  /** The database, with the name under which a server's connections are found in pg_stat_activity. */
  urlFor(applicationName: string): string;
}

export interface WorkspaceOptions extends Pick<PrepareOptions, 'limited' | 'furnish'> {
  readonly size: Size;
  readonly keys?: number;
}

/** Makes a database of its own on a PostgreSQL; both are gone when `cleanup` is disposed of. */
export async function openWorkspace(
  cleanup: AsyncDisposableStack,
  { keys = 1, ...options }: WorkspaceOptions,
): Promise<Workspace> {
  const postgres = await startPostgres();
  cleanup.defer(() => postgres.stop());
  const name = `content_graph_bench_${randomBytes(6).toString('hex')}`;
  const maintenance = new pg.Client({ connectionString: postgres.url });
  await maintenance.connect();
  cleanup.defer(() => maintenance.end());
  await maintenance.query(`CREATE DATABASE ${name} TEMPLATE template0`);
  cleanup.defer(async () => void (await maintenance.query(`DROP DATABASE ${name} WITH (FORCE)`)));
  const url = new URL(postgres.url);
  url.pathname = `/${name}`;
  const prepared = await prepare({ ...options, settings: { DATABASE_URL: url.href }, keys });
  const admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  cleanup.defer(() => admin.end());
  const { rows } = await admin.query<{ server_version: string }>('SHOW server_version');
  return {
    ...prepared,
    admin,
    postgresVersion: rows[0]?.server_version ?? 'unknown',
    postgresSettings: postgres.settings,
    urlFor(applicationName) {
      const own = new URL(url);
      own.searchParams.set('application_name', applicationName);
      return own.href;
    },
  };
}
