import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { Cancellation } from '../database/cancellation.ts';
import type { Database } from '../database/database.ts';
import { findLogLevel } from '../database/errors.ts';
import { type Queryable, type Statement, statement } from '../database/statement.ts';
import { batchReads } from '../platform/async.ts';
import type { Clock } from '../platform/deadline.ts';
import type { LogFields, Logger } from '../platform/log/log.ts';
import type { LogEventCode } from '../platform/log/log-events.ts';
import type { Invalid } from './authenticate.ts';

const INTERVAL_MS = 60_000;
/** INTERVAL_MS as SQL. */
export const FRESH = "interval '60 seconds'";
const MAX_NOTED_USES = 10_000;

interface LastUsedOptions extends UseServices, UseFailure {
  readonly table: string;
  /** The type of the column "id". */
  readonly idType?: 'uuid' | 'text';
  /** The column with the last use. */
  readonly usedAt: string;
  /** SQL for the expiry that a use gives to a row that has not expired; without it, uses prolong nothing. */
  readonly prolongedTo?: string | undefined;
}

/** Records a use. `fresh` means that a recent use was already stored when the row was read. */
export type RecordUse = (id: string, fresh: boolean) => void;

/**
 * Stores the use of rows, given their ids. It skips rows that another transaction has locked, such as the mutation of a
 * client: their next use is stored, and the statement does not wait. The subquery locks a row only if the row still meets
 * the condition.
 */
function touch({
  table,
  idType = 'uuid',
  usedAt,
  prolongedTo,
}: Pick<LastUsedOptions, 'table' | 'idType' | 'usedAt' | 'prolongedTo'>) {
  const prolongs = prolongedTo === undefined ? '' : `, expires_at = ${prolongedTo}`;
  const alive = prolongedTo === undefined ? '' : ' AND expires_at > now()';
  return statement<never>(
    `${table}_touch`,
    `UPDATE ${table} SET ${usedAt} = now()${prolongs} WHERE id IN (
       SELECT id FROM ${table} WHERE id = ANY($1::${idType}[]) AND (${usedAt} IS NULL OR ${usedAt} < now())${alive}
       FOR NO KEY UPDATE SKIP LOCKED
     )`,
  );
}

/** What recording uses needs. */
export interface UseServices {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The line of the log about uses that cannot be stored. */
interface UseFailure {
  readonly failure: LogEventCode;
  readonly about?: LogFields;
}

interface UseStore<Use> extends Pick<UseServices, 'clock' | 'log'>, UseFailure {
  readonly identityOf: (use: Use) => string;
  /** Stores uses, of which no two have the same identity. */
  readonly store: (uses: readonly Use[]) => Promise<void>;
}

/** Uses inform people. Each identity is written at most once a minute, and no request waits for it. */
export function storeOncePerMinute<Use>({
  clock,
  log,
  failure,
  about,
  identityOf,
  store,
}: UseStore<Use>): (use: Use) => void {
  const noted = new LRUCache<string, number>({ max: MAX_NOTED_USES });
  const storeSoon = batchReads(
    async (uses: readonly Use[]) => {
      await store(uses);
      return uses;
    },
    { identityOf },
  );
  return (use) => {
    const identity = identityOf(use);
    // A row may have been read just before a use was stored.
    const elapsedMs = clock.elapsedMs();
    if (elapsedMs - (noted.get(identity) ?? Number.NEGATIVE_INFINITY) < INTERVAL_MS) return;
    noted.set(identity, elapsedMs);
    storeSoon(use).catch((error: unknown) =>
      log.emit(failure, { ...about, err: error }, findLogLevel(error)),
    );
  };
}

/** Last-used times also keep sessions from going idle. */
export function createUseRecorder({
  database,
  clock,
  log,
  failure,
  about,
  ...rows
}: LastUsedOptions): RecordUse {
  const statement = touch(rows);
  const note = storeOncePerMinute<string>({
    ...{ clock, log, failure, ...(about && { about }) },
    identityOf: (id) => id,
    async store(ids) {
      await database.query(statement, [ids]);
    },
  });
  return (id, fresh) => {
    if (!fresh) note(id);
  };
}

const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i += 1) {
    digits = ALPHABET[rest % ALPHABET.length] + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}

/**
 * The form of a secret: a prefix, 30 random characters of 62 (178 bits) and a checksum of six. The prefix lets scanners
 * recognise a leaked secret; the checksum exposes a mistyped or invented one without a query. The prefix has no
 * characters that are special in a regular expression. `earlier` is a prefix that secrets had before, and may still
 * have.
 */
export function secretFormat(prefix: string, earlier = prefix) {
  const pattern = new RegExp(`^(?:${prefix}|${earlier})[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);
  return {
    generate(): string {
      let random = '';
      while (random.length < RANDOM_LENGTH) {
        // 248 is the largest multiple of 62 below 256: larger bytes would favour the first characters.
        for (const byte of randomBytes(RANDOM_LENGTH))
          if (byte < 248 && random.length < RANDOM_LENGTH) random += ALPHABET[byte % ALPHABET.length];
      }
      return prefix + random + checksum(random);
    },
    /** Whether the text begins like such a secret. */
    looksLike: (text: string) => text.startsWith(prefix),
    /** Whether the text has the form and checksum of one. It may still not exist. */
    isWellFormed: (text: string) =>
      pattern.test(text) &&
      checksum(text.slice(-RANDOM_LENGTH - CHECKSUM_LENGTH, -CHECKSUM_LENGTH)) ===
        text.slice(-CHECKSUM_LENGTH),
  };
}

/** What is stored of a secret. Plain SHA-256 is enough: 178 random bits and more cannot be guessed. */
export function hashSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hash('sha256', secret, 'buffer'));
}

/** Whether the hash is that of the secret, in constant time. */
export function matchesSecret(secret: string, hash: Uint8Array): boolean {
  const given = hashSecret(secret);
  return given.length === hash.length && timingSafeEqual(given, hash);
}

/** Bytes as PostgreSQL writes them as text. */
export function byteaText(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes).toString('hex')}`;
}

/**
 * Revoked credentials are rejected everywhere within a second (contract section 3): an entry lives half of
 * that.
 */
const TTL_MS = 500;
const MAX_CACHED_LOOKUPS = 10_000;

/**
 * Caches what the database says about credentials, so briefly that no revocation is missed. Concurrent
 * callers share one look-up. A failed one is not cached, and rejects with what `ask` throws.
 */
export function createCredentialCache<T>(clock: Clock) {
  const cache = new LRUCache<string, { readonly found: Promise<T>; readonly untilMs: number }>({
    max: MAX_CACHED_LOOKUPS,
  });
  return (name: string, ask: () => Promise<T>): Promise<T> => {
    const nowMs = clock.elapsedMs();
    const cached = cache.get(name);
    if (cached !== undefined && cached.untilMs > nowMs) return cached.found;
    const found = ask();
    cache.set(name, { found, untilMs: nowMs + TTL_MS });
    found.catch(() => cache.delete(name));
    return found;
  };
}

/** The database for reads of an owner: they wait in the owner's queue and are charged to the owner (decision 16). */
export const readConnectionFor = (
  database: Pick<Database, 'cancellable'>,
  owner: string | undefined,
): Queryable => database.cancellable(new Cancellation(undefined, owner));

/** The part of a database that look-ups use. */
export type LookUpDatabase = Queryable & Pick<Database, 'cancellable'>;

const MAX_REMEMBERED = 10_000;
/** Look-ups of unknown secrets share one owner, and so one slot on the database (decision 16). */
const STRANGERS = 'unknown credentials';

/** Looks rows up by key, many in one statement. Undefined if there is none. Rejects with DatabaseError. */
export function lookUp<Row>(db: Queryable, statement: Statement<Row>, keyOf: (row: Row) => string) {
  return batchReads(async (keys: readonly string[]) => {
    const found = new Map((await db.query(statement, [keys])).map((row) => [keyOf(row), row]));
    return keys.map((key) => found.get(key));
  });
}

/**
 * Looks credentials up by the hash of their secret. Once a secret was found, its account is the owner of the look-up.
 * Undefined if there is none. Rejects with DatabaseError.
 */
function lookUpByHash<Row extends { readonly hash: Uint8Array; readonly userId: string }>(
  database: LookUpDatabase,
  statement: Statement<Row>,
) {
  const accounts = new LRUCache<string, string>({ max: MAX_REMEMBERED });
  /** Of the owners with look-ups under way: how many, and what gathers them. */
  const readers = new Map<string, { underWay: number; read(key: string): Promise<Row | undefined> }>();

  async function readFor(owner: string, key: string): Promise<Row | undefined> {
    let known = readers.get(owner);
    if (known === undefined) {
      const read = lookUp(readConnectionFor(database, owner), statement, ({ hash }: Row) => byteaText(hash));
      known = { underWay: 0, read };
      readers.set(owner, known);
    }
    known.underWay += 1;
    try {
      return await known.read(key);
    } finally {
      known.underWay -= 1;
      if (known.underWay === 0) readers.delete(owner);
    }
  }

  return async (hash: Uint8Array, owner?: string): Promise<Row | undefined> => {
    const key = byteaText(hash);
    const row = await readFor(owner ?? accounts.get(key) ?? STRANGERS, key);
    if (row === undefined) accounts.delete(key);
    else accounts.set(key, row.userId);
    return row;
  };
}

/** What the row of every secret says. */
export interface SecretRow {
  readonly id: string;
  readonly userId: string;
  /** Whether its last use was stored so recently that it need not be stored again. */
  readonly fresh: boolean;
  /** Revoked, expired by the database's clock, or of a disabled account. */
  readonly invalid: boolean;
}

export interface SecretServices {
  readonly database: LookUpDatabase;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A kind of secret of which the database has a hash. In its SQL, `s` is the secret's row. */
interface SecretKind extends Pick<LastUsedOptions, 'table' | 'usedAt' | 'prolongedTo'> {
  readonly kind: string;
  /** What else its look-ups read, such as `JOIN users u ON u.id = s.user_id`. */
  readonly joins?: string;
  /** SQL: true if it is revoked or expired. */
  readonly invalidSql: string;
  /** The columns that every look-up returns beside those of a SecretRow. */
  readonly columns: readonly string[];
  /** Those that only a look-up by the secret itself returns. */
  readonly columnsOfSecret?: readonly string[];
  /** Why one that is not valid is rejected, for the client. */
  readonly rejection: string;
}

/** Looks secrets of a kind up. Each look-up asks the database, and rejects with DatabaseError. */
export function storedSecrets<ById extends SecretRow, BySecret extends ById = ById>(
  { database, clock, log }: SecretServices,
  { kind, rejection, joins = '', invalidSql, columns, columnsOfSecret = [], ...rows }: SecretKind,
) {
  const { table, usedAt } = rows;
  const fresh = `coalesce(s.${usedAt} > now() - ${FRESH}, false)`;
  function select<Row>(by: 'hash' | 'id', type: string, more: readonly string[]): Statement<Row> {
    const all = [
      's.id, s.user_id AS "userId"',
      `${fresh} AS "fresh"`,
      `(${invalidSql}) AS "invalid"`,
      ...columns,
      ...more,
    ];
    return statement(
      `${table}_by_${by}`,
      `SELECT ${all.join(', ')} FROM ${table} s ${joins} WHERE s.${by} = ANY($1::${type}[])`,
    );
  }
  const findByHash = lookUpByHash(
    database,
    select<BySecret & { hash: Uint8Array }>('hash', 'bytea', ['s.hash', ...columnsOfSecret]),
  );
  const findById = lookUp(database, select<ById>('id', 'uuid', []), ({ id }) => id);
  const recordUse = createUseRecorder({
    ...{ database, clock, log, ...rows },
    ...{ failure: 'auth.last_used_store_failed', about: { credentialType: kind } },
  });

  return {
    /** The row of a secret, valid or not. `owner` is its account, if that is known. */
    find: (secret: string, owner?: string) => findByHash(hashSecret(secret), owner),
    /** SQL: `fresh` of the secret with an id; null if it is invalid, or if `same` does not hold. */
    freshIf: (id: string, same: string) =>
      `(SELECT ${fresh} FROM ${table} s ${joins} WHERE s.id = ${id}::uuid AND NOT (${invalidSql}) AND ${same})`,
    /** The row with an id; undefined if there is none, or if it is invalid. */
    async holding(id: string | undefined): Promise<ById | undefined> {
      const row = id === undefined ? undefined : await findById(id);
      return row?.invalid === false ? row : undefined;
    },
    recordUse: ({ id, fresh }: SecretRow) => recordUse(id, fresh),
    /** The result for a secret that is unknown or invalid. */
    rejected: (row?: SecretRow): Invalid => ({
      outcome: 'invalid',
      kind,
      reason: rejection,
      accountId: row?.userId,
    }),
  };
}
