import type { PGlite } from '@electric-sql/pglite';
import { escapeIdentifier, escapeLiteral } from 'pg';
import { z } from 'zod';

/**
 * The state of a session on the one backend: what a connection of PostgreSQL would have for itself. `undo` has a
 * statement that ends each thing that outlives a transaction: a prepared statement, a temporary table, a cursor, a
 * LISTEN, an advisory lock.
 */
const found = z.object({
  settings: z.record(z.string(), z.string()),
  role: z.string(),
  user: z.string(),
  undo: z.array(z.string()),
});

export type SessionState = Readonly<z.infer<typeof found>>;

/** As after a connection. */
export const NEW_SESSION: SessionState = { settings: {}, role: 'none', user: 'postgres', undo: [] };

/** How often an advisory lock may be held, each of which takes an unlock. */
const LOCK_DEPTH = 1_000;

/** How a prepared statement and a LISTEN are undone. */
export const deallocate = (name: string): string => `DEALLOCATE ${escapeIdentifier(name)}`;
export const unlisten = (channel: string): string => `UNLISTEN ${escapeIdentifier(channel)}`;

const quoted = (column: string) => `'"' || pg_catalog.replace(${column}, '"', '""') || '"'`;

/** Each name is qualified and the result is ASCII: the session may have any search path and any encoding. */
const LOOK = `SELECT pg_catalog.encode(pg_catalog.convert_to(pg_catalog.json_build_object(
  'settings', (SELECT COALESCE(pg_catalog.json_object_agg(name, setting), '{}') FROM pg_catalog.pg_settings
    WHERE source = 'session' AND context = ANY (ARRAY['user', 'superuser'])
      AND name NOT LIKE 'transaction\\_%' AND name <> 'seed'),
  'role', pg_catalog.current_setting('role'),
  'user', session_user,
  'undo', (SELECT COALESCE(pg_catalog.json_agg(each), '[]') FROM (
    SELECT 'DEALLOCATE ' || ${quoted('name')} AS each FROM pg_catalog.pg_prepared_statements
    UNION ALL SELECT 'CLOSE ' || ${quoted('name')} FROM pg_catalog.pg_cursors WHERE is_holdable
    UNION ALL SELECT 'UNLISTEN ' || ${quoted('channel')} FROM pg_catalog.pg_listening_channels() AS channel
    UNION ALL SELECT 'DROP ' || CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END
        || ' IF EXISTS pg_temp.' || ${quoted('relname::pg_catalog.text')} || ' CASCADE'
      FROM pg_catalog.pg_class WHERE relnamespace = pg_catalog.pg_my_temp_schema()
        AND relkind = ANY (ARRAY['r', 'p', 'v', 'S']::pg_catalog."char"[])
    UNION ALL SELECT 'SELECT pg_catalog.count(pg_catalog.pg_advisory_unlock'
        || CASE mode WHEN 'ShareLock' THEN '_shared(' ELSE '(' END
        || CASE objsubid WHEN 1 THEN ((classid::pg_catalog.int8 << 32) | objid::pg_catalog.int8)::pg_catalog.text
             ELSE classid::pg_catalog.int4 || ', ' || objid::pg_catalog.int4 END
        || ')) FROM pg_catalog.generate_series(1, ${LOCK_DEPTH})'
      FROM pg_catalog.pg_locks WHERE locktype = 'advisory') AS things)
)::pg_catalog.text, 'UTF8'), 'hex') AS state`;

/** What the session is like now. It must not be in a transaction. */
export async function readState(db: PGlite): Promise<SessionState> {
  const [answer] = await db.exec(LOOK);
  const [row] = (answer?.rows ?? []) as { readonly state: string }[];
  return found.parse(JSON.parse(Buffer.from(row?.state ?? '', 'hex').toString('utf8')));
}

/** Cannot be changed once the session has used temporary tables, and then means nothing. */
const STUCK = 'temp_buffers';
const asFarAsPossible = (change: string) =>
  `DO $$ BEGIN ${change}; EXCEPTION WHEN invalid_parameter_value THEN NULL; END $$`;

async function reset(db: PGlite, { settings }: SessionState): Promise<void> {
  // Resetting it would do nothing: PGlite has begun without a name.
  await db.exec(`SET SESSION AUTHORIZATION ${NEW_SESSION.user}; RESET ROLE`);
  if (settings[STUCK] === undefined) await db.exec('RESET ALL');
  else {
    for (const name of Object.keys(settings)) if (name !== STUCK) await db.exec(`RESET ${name}`);
    await db.exec(asFarAsPossible(`RESET ${STUCK}`));
  }
}

/**
 * Gives the session the settings of `next` in place of those of `now`. Rejects if PostgreSQL refuses them. Settings with
 * names of one's own (`my.name`) are lost: PostgreSQL does not list them.
 */
export async function changeSettings(db: PGlite, now: SessionState, next: SessionState): Promise<void> {
  // On its own: what the session takes for a literal may be a setting too.
  await reset(db, now);
  const calls = Object.entries(next.settings)
    .filter(([name]) => name !== STUCK)
    .map(([name, value]) => `pg_catalog.set_config(${escapeLiteral(name)}, ${escapeLiteral(value)}, false)`);
  if (calls.length > 0) await db.exec(`SELECT ${calls.join(', ')}`);
  const stuck = next.settings[STUCK];
  if (stuck !== undefined)
    await db.exec(asFarAsPossible(`PERFORM pg_catalog.set_config('${STUCK}', '${stuck}', false)`));
  if (next.user !== NEW_SESSION.user)
    await db.exec(`SET SESSION AUTHORIZATION ${escapeIdentifier(next.user)}`);
  if (next.role !== NEW_SESSION.role) await db.exec(`SET ROLE ${escapeIdentifier(next.role)}`);
}

/** Ends what a connection has left in the session, as far as it is there. Returns whether nothing of it is left. */
export async function undo(db: PGlite, statements: readonly string[]): Promise<boolean> {
  if (statements.length === 0) return true;
  const before = await readState(db);
  // Without a warning for each lock that is free.
  await changeSettings(db, before, { ...NEW_SESSION, settings: { client_min_messages: 'error' } });
  for (const statement of statements) if (before.undo.includes(statement)) await db.exec(statement);
  const after = await readState(db);
  await changeSettings(db, after, before);
  return !after.undo.some((statement) => statements.includes(statement));
}
