import pg from 'pg';
import { afterAll, beforeAll, inject, onTestFinished } from 'vitest';
import {
  CREDENTIALS_CHANNEL,
  DOCUMENTS_CHANNEL,
  RESTRICTIONS_CHANNEL,
} from '../../../src/platform/db/channels.ts';
import { startApp, type TestApp } from '../app.ts';
import { until } from '../processes/process.ts';
import { createTestDatabase } from './database.ts';

/** The service on the embedded database, with ample time unless it is set otherwise, during a `describe`. Read it inside tests only. */
export function useEmbeddedApp(settings: Readonly<Record<string, string>> = {}): TestApp {
  const holder = {} as TestApp;
  const opened: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    const template = { kind: 'embedded', folder: inject('migratedFolder') } as const;
    const app = await startApp(await createTestDatabase({ template }), { settings });
    opened.push(() => app.stop());
    Object.assign(holder, app);
  });
  afterAll(async () => {
    for (const close of opened.toReversed()) await close();
  });
  return holder;
}

/** An outside connection to the embedded database, as psql has one. */
export interface Guest {
  readonly client: pg.Client;
  /** What it was told beside answers, such as why it was ended. */
  readonly told: readonly string[];
  /** Resolves once the connection has ended, whoever has ended it. */
  readonly ended: Promise<void>;
  /** The first value of each row of one or more statements. */
  ask(sql: string): Promise<unknown[]>;
  /** Ends it with a word, */
  leave(): Promise<void>;
  /** or without. */
  vanish(): void;
}

/** Connects as `application`. It goes with the test. */
export async function enter({ config }: Pick<TestApp, 'config'>, application = 'guest'): Promise<Guest> {
  const client = new pg.Client({
    host: config.dataDir,
    user: 'postgres',
    database: 'postgres',
    application_name: application,
    connectionTimeoutMillis: 60_000,
  });
  const told: string[] = [];
  client.on('error', ({ message }) => void told.push(message));
  client.on('notice', ({ message }) => void told.push(message ?? ''));
  const ended = new Promise<void>((resolve) => client.once('end', () => resolve()));
  await client.connect();
  const vanish = () => void client.connection.stream.destroy();
  onTestFinished(vanish);
  return {
    client,
    told,
    ended,
    async ask(sql) {
      const answer: pg.QueryArrayResult | pg.QueryArrayResult[] = await client.query({
        text: sql,
        rowMode: 'array',
      });
      return [answer].flat().flatMap(({ rows }) => rows.map(([first]) => first as unknown));
    },
    leave: () => client.end(),
    vanish,
  };
}

/** The same, as soon as there is a place: those who have just vanished may not be known to be gone. */
export const enterLater = (app: Pick<TestApp, 'config'>): Promise<Guest> =>
  until('a place', () => enter(app).catch(() => undefined));

const things = `SELECT json_build_object(
  'settings', (SELECT COALESCE(json_agg(name || ' = ' || setting), '[]') FROM pg_settings
    WHERE source = 'session' AND name NOT LIKE 'transaction\\_%' AND name <> ALL (ARRAY['seed', 'temp_buffers'])),
  'user', session_user, 'role', current_user,
  'prepared', (SELECT COALESCE(json_agg(name), '[]') FROM pg_prepared_statements WHERE name LIKE 'guest%'),
  'cursors', (SELECT COALESCE(json_agg(name), '[]') FROM pg_cursors WHERE is_holdable),
  'channels', (SELECT json_agg(channel) FROM pg_listening_channels() AS channel),
  'temporary', (SELECT COALESCE(json_agg(pg_describe_object(classid, objid, 0)), '[]') FROM pg_depend
    WHERE refclassid = 'pg_namespace'::regclass AND refobjid = pg_my_temp_schema()),
  'locks', (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'))::text`;

/** What `lookAfresh` finds where no guest has left anything. */
export const UNTOUCHED = {
  settings: [],
  user: 'postgres',
  role: 'postgres',
  prepared: [],
  cursors: [],
  channels: [CREDENTIALS_CHANNEL, DOCUMENTS_CHANNEL, RESTRICTIONS_CHANNEL],
  temporary: [],
  locks: 0,
};

/**
 * What is in the session of a connection that has just been opened. `temp_buffers` is left out: PostgreSQL refuses to set
 * it back once there were temporary tables. Names of what guests prepare begin with `guest`.
 */
export async function lookAfresh(app: Pick<TestApp, 'config'>): Promise<unknown> {
  const guest = await enterLater(app);
  const [found] = await guest.ask(things);
  await guest.leave();
  await guest.ended;
  return JSON.parse(String(found));
}
