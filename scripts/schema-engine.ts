/**
 * Prisma's own migration engine in its WASM form: an internal package, pinned, used for development and tests only.
 * `npm run db:diff` prints the SQL that takes the checked-in migrations to prisma/schema.prisma; nothing means in step.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils';
import { type DiffTarget, SchemaEngine } from '@prisma/schema-engine-wasm';
import type { QueryResult } from 'pg';

const SCHEMA_PATH = 'prisma/schema.prisma';
const MIGRATIONS_PATH = 'prisma/migrations';

type Adapter = Awaited<ReturnType<PrismaPg['connect']>>;

/** Type oids: `"char"`, which the adapter does not read and the engine's catalog queries return, and text. */
const CHAR_OID = 18;
const TEXT_OID = 25;

/** The adapter as the engine needs it: scripts go over whole (function bodies hold semicolons), `"char"` is text. */
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
  return adapter;
}

function engineAdapterFactory(connectionString: string): SqlMigrationAwareDriverAdapterFactory {
  const factory = new PrismaPg(connectionString);
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: async () => forEngine(await factory.connect()),
    connectToShadowDb: async () => forEngine(await factory.connectToShadowDb()),
  };
}

/**
 * The SQL between the migrations and the schema file, in the direction given.
 * `connectionString` names a server where the engine may create and drop a shadow database.
 */
export async function diffMigrations(
  connectionString: string,
  direction: 'to-schema' | 'from-schema' = 'to-schema',
): Promise<string> {
  let output = '';
  const content = readFileSync(SCHEMA_PATH, 'utf8');
  const adapter = bindMigrationAwareSqlAdapterFactory(engineAdapterFactory(connectionString));
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
            content: { tag: 'ok', value: readFileSync(join(MIGRATIONS_PATH, name, 'migration.sql'), 'utf8') },
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
  const url = process.env.DATABASE_URL;
  if (url === undefined) {
    process.stderr.write('Set DATABASE_URL to a PostgreSQL on which a shadow database may be created.\n');
    process.exit(2);
  }
  process.stdout.write(`${await diffMigrations(url)}\n`);
}
