/**
 * Prisma's migration engine as WASM: an internal package, pinned, for development and tests only. `npm run
 * db:diff` prints the SQL that turns the result of the checked-in migrations into prisma/schema.prisma; no
 * output if they agree.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils';
import { type DiffTarget, SchemaEngine } from '@prisma/schema-engine-wasm';
import pg, { type QueryResult } from 'pg';
import { startEmbeddedServer } from '../src/database/embedded/server.ts';
import { withoutConcurrently } from '../src/database/migrate.ts';
import { createLogger } from '../src/platform/log/log.ts';
import { readArguments } from '../src/platform/process.ts';

const SCHEMA_PATH = 'prisma/schema.prisma';
const MIGRATIONS_PATH = 'prisma/migrations';

type Adapter = Awaited<ReturnType<PrismaPg['connect']>>;

/** Type oids: `"char"`, which the engine's catalogue queries return but the adapter lacks, and text. */
const CHAR_OID = 18;
const TEXT_OID = 25;
/** The only column that the engine requires as a character. */
const CHARACTER_COLUMN = 'constraint_type';

/** Runs scripts whole, because function bodies hold semicolons, and maps `"char"` to text. */
function forEngine(adapter: Adapter): Adapter {
  const pool = adapter.underlyingDriver();
  const query = pool.query.bind(pool) as (config: unknown) => Promise<QueryResult>;
  const asText = async (config: unknown): Promise<QueryResult> => {
    const result = await query(config);
    for (const field of result.fields ?? []) if (field.dataTypeID === CHAR_OID) field.dataTypeID = TEXT_OID;
    return result;
  };
  pool.query = asText as typeof pool.query;
  adapter.executeScript = async (script) => void (await query(script));
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = async (params) => {
    const result = await queryRaw(params);
    const columnTypes = result.columnTypes.map((type, index) =>
      result.columnNames[index] === CHARACTER_COLUMN ? ColumnTypeEnum.Character : type,
    );
    return { ...result, columnTypes };
  };
  return adapter;
}

type Connection = Exclude<ConstructorParameters<typeof PrismaPg>[0], string>;

/** The database is empty and disposable, so it serves as its own shadow database. */
function engineAdapterFactory(connection: Connection): SqlMigrationAwareDriverAdapterFactory {
  const factory = new PrismaPg(connection);
  const connect = async () => forEngine(await factory.connect());
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect,
    // The adapter's own method would use the database in the connection string, not a separate one.
    connectToShadowDb: connect,
  };
}

async function onPostgres<T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const name = `content_graph_shadow_${randomBytes(6).toString('hex')}`;
  try {
    await client.query(`CREATE DATABASE ${name} TEMPLATE template0`);
    const shadow = new URL(url);
    shadow.pathname = `/${name}`;
    return await work({ connectionString: shadow.href });
  } finally {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await client.end();
  }
}

/** The embedded database has no CREATE DATABASE, so the engine gets a server of its own. */
async function onEmbedded<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-shadow-'));
  const server = await startEmbeddedServer(folder, createLogger({ level: 'error', pretty: false }));
  try {
    return await work({
      ...{ user: 'postgres', database: 'postgres' },
      stream: server.createStream,
    });
  } finally {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

export type Direction = 'to-schema' | 'from-schema';

/**
 * The SQL that leads from the migrations to the schema file, or back; empty if they agree. Uses a temporary
 * database on the server of `url` or, without a `url`, an embedded one. The database of `url` itself is not
 * touched.
 */
export async function diffMigrations(
  url: string | undefined,
  direction: Direction = 'to-schema',
): Promise<string> {
  const work = (connection: Connection) => diff(connection, direction);
  return url === undefined ? onEmbedded(work) : onPostgres(url, work);
}

async function diff(connection: Connection, direction: Direction): Promise<string> {
  let output = '';
  const content = readFileSync(SCHEMA_PATH, 'utf8');
  const adapter = bindMigrationAwareSqlAdapterFactory(engineAdapterFactory(connection));
  const engine = await SchemaEngine.new({ datamodels: [[SCHEMA_PATH, content]] }, () => undefined, adapter);
  try {
    const migrations: DiffTarget = {
      tag: 'migrations',
      baseDir: MIGRATIONS_PATH,
      lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
      shadowDbInitScript: '',
      migrationDirectories: readdirSync(MIGRATIONS_PATH, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => entry.name)
        .sort()
        .map((name) => ({
          path: name,
          migrationFile: {
            path: 'migration.sql',
            content: {
              tag: 'ok',
              value: withoutConcurrently(readFileSync(join(MIGRATIONS_PATH, name, 'migration.sql'), 'utf8')),
            },
          },
        })),
    };
    const schema: DiffTarget = { tag: 'schemaDatamodel', files: [{ path: SCHEMA_PATH, content }] };
    const result = await engine.diff({
      from: direction === 'to-schema' ? migrations : schema,
      to: direction === 'to-schema' ? schema : migrations,
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    });
    output = result.stdout ?? '';
  } finally {
    engine.free();
  }
  return output.replace('-- This is an empty migration.', '').trim();
}

if (import.meta.main) {
  readArguments(
    'npm run db:diff\n\nPrints the SQL that leads from the migrations to prisma/schema.prisma.\n',
    {},
  );
  process.stdout.write(`${await diffMigrations(process.env.DATABASE_URL)}\n`);
}
