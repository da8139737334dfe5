import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createDrawnDatabase } from './drawn-world.ts';

/** A database with nothing in it, of which everything is drawn. */
export interface EmptyDatabase {
  /** A connection to the server, to another database. */
  readonly server: pg.Client;
  readonly name: string;
  readonly url: string;
  drop(): Promise<void>;
}

/** Makes one on the server of DATABASE_URL. `suite` is for whoever finds it there, `label` says which draw it has. */
export async function createEmptyDatabase(suite: string, label = suite): Promise<EmptyDatabase> {
  const url = new URL(process.env.DATABASE_URL ?? '');
  const server = new pg.Client({ connectionString: url.href });
  await server.connect();
  const name = `content_graph_${suite}_${randomBytes(6).toString('hex')}`;
  await createDrawnDatabase(server, name, label);
  url.pathname = `/${name}`;
  return {
    server,
    name,
    url: url.href,
    async drop() {
      await server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await server.end();
    },
  };
}
