import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../../generated/prisma/client.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../log.ts';
import { startEmbeddedServer } from './embedded/server.ts';
import { toDatabaseError } from './errors.ts';
import { prismaOn } from './pinned-prisma.ts';
import type { Parameter, Queryable, Statement } from './statement.ts';
import { type Connection, UnitOfWork, type UnitOfWorkOptions } from './unit-of-work.ts';

/** The database, embedded or real: one pool under direct statements, units of work and Prisma's client. */
export interface Database extends Queryable {
  readonly kind: 'embedded' | 'postgres';
  /** For the paths where speed does not matter: credentials, administration. Never inside a unit of work. */
  readonly prisma: PrismaClient;
  /** A transaction that opens with its first statement. */
  unitOfWork(options: UnitOfWorkOptions): UnitOfWork;
  /** A connection for as long as the caller keeps it, past a connection pooler where one is set up. */
  dedicatedClient(): Promise<pg.Client>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Names of prepared statements are shared by all connections of the embedded server: one process alone uses them. */
  readonly namedStatements?: boolean;
}

const CONNECT_TIMEOUT_MS = 5_000;
export const STATEMENT_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 30_000;

/** A bigint column as a number: ids of this service stay far below 2^53. */
const INT8 = 20;

function types(): pg.CustomTypesConfig {
  return {
    getTypeParser: ((oid: number, format: 'text' | 'binary') =>
      oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
  };
}

interface Server {
  readonly connection: pg.ClientConfig;
  readonly direct: pg.ClientConfig;
  readonly poolSize: number;
  readonly named: boolean;
  ready(): Promise<void>;
  close(): Promise<void>;
}

async function openServer({ config, log, namedStatements = true }: DatabaseOptions): Promise<Server> {
  if (config.database.kind === 'postgres') {
    const { url, directUrl, poolSize } = config.database;
    const limits = {
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: 30_000,
      application_name: 'content-graph-api',
    };
    return {
      connection: { connectionString: url, ...limits },
      direct: { connectionString: directUrl, application_name: 'content-graph-api' },
      poolSize,
      // A pooler hands statements to any server connection, where a name may mean nothing.
      named: namedStatements && url === directUrl,
      ready: async () => undefined,
      close: async () => undefined,
    };
  }
  const server = await startEmbeddedServer(config.database.dataDir, log);
  const connection = embeddedConnection(server.address);
  return {
    connection,
    direct: connection,
    poolSize: 1,
    named: namedStatements,
    ready: server.ready,
    close: server.close,
  };
}

/** How `pg` reaches an embedded server. */
export function embeddedConnection(address: { host: string; port: number }): pg.ClientConfig {
  return {
    host: address.host,
    port: address.port,
    user: 'postgres',
    password: '',
    database: 'postgres',
    ssl: false,
  };
}

/** Opens the database that the settings name. Throws FolderInUseError where another process has the embedded folder. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const server = await openServer(options);
  return connectDatabase(options.config.database.kind, server, options.log);
}

/** The database behind a connection that somebody else serves. */
export function connectDatabase(kind: Database['kind'], server: Server, log: Logger): Database {
  const pool = new pg.Pool({
    ...server.connection,
    max: server.poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: kind === 'embedded' ? 0 : IDLE_TIMEOUT_MS,
    keepAlive: true,
  });
  // A connection that breaks is replaced by the pool; without listeners, idle or lent, it would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection broke'));
  pool.on('connect', (client) => client.on('error', () => undefined));
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  const custom = types();

  const run = async <Row>(
    target: pg.Pool | pg.PoolClient,
    { name, text }: Statement<Row>,
    values: readonly Parameter[],
  ): Promise<Row[]> => {
    try {
      const config = { text, values: values as unknown[], types: custom };
      const result = await target.query(server.named ? { ...config, name } : config);
      return result.rows as Row[];
    } catch (error) {
      throw toDatabaseError(error);
    }
  };

  const connect = async (): Promise<Connection> => {
    await server.ready();
    const client = await pool.connect().catch((error: unknown) => {
      throw toDatabaseError(error);
    });
    return {
      client,
      get prisma() {
        return prismaOn(client);
      },
      query: (statement, values) => run(client, statement, values),
      release: (error) => client.release(error),
    };
  };

  return {
    kind,
    prisma,
    query: async (statement, values) => {
      await server.ready();
      return run(pool, statement, values);
    },
    unitOfWork: (options) => new UnitOfWork(connect, options),
    async dedicatedClient() {
      await server.ready();
      const client = new pg.Client({
        ...server.direct,
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
        keepAlive: true,
      });
      await client.connect();
      return client;
    },
    async close() {
      await prisma.$disconnect();
      await pool.end();
      await server.close();
    },
  };
}
