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
export const FRESH = "interval '60 seconds'";
const MAX_CACHED_USES = 10_000;

interface UsedRows {
  readonly table: string;
  readonly idType?: 'uuid' | 'text';
  readonly usedAt: string;
  /** SQL for the new expiry of a used row; without it, a use prolongs nothing. */
  readonly prolongedTo?: string | undefined;
}

interface LastUsedOptions extends UseServices, UseFailure, UsedRows {}

/** `fresh` means that a recent use is already stored. */
export type RecordUse = (id: string, fresh: boolean) => void;

/**
 * The statement skips locked rows instead of waiting, such as during a client's mutation, because the next
 * use is stored anyway. The subquery locks a row only if the row still meets the condition.
 */
function touch({ table, idType = 'uuid', usedAt, prolongedTo }: UsedRows) {
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

export interface UseServices {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly log: Logger;
}

interface UseFailure {
  readonly failure: LogEventCode;
  readonly about?: LogFields;
}

interface UseStore<Use> extends Pick<UseServices, 'clock' | 'log'>, UseFailure {
  readonly identityOf: (use: Use) => string;
  readonly store: (uses: readonly Use[]) => Promise<void>;
}

/** Each identity is written at most once a minute, and no request waits for the write. */
export function storeOncePerMinute<Use>(options: UseStore<Use>): (use: Use) => void {
  const { clock, log, failure, about, identityOf, store } = options;
  const noted = new LRUCache<string, number>({ max: MAX_CACHED_USES });
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

/** Stored uses also prolong sessions, which expire when idle. */
export function createUseRecorder({ database, ...options }: LastUsedOptions): RecordUse {
  const statement = touch(options);
  const note = storeOncePerMinute<string>({
    ...options,
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
 * A secret is a prefix, 30 random characters of 62 (178 bits) and six characters of checksum. Scanners
 * recognise a leaked secret by its prefix. The checksum exposes a mistyped or invented secret without a
 * query.
 * @param prefix contains no special characters of regular expressions
 * @param earlier a prefix of older secrets, which stay valid
 */
export function secretFormat(prefix: string, earlier = prefix) {
  const pattern = new RegExp(`^(?:${prefix}|${earlier})[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);
  return {
    generate(): string {
      let random = '';
      while (random.length < RANDOM_LENGTH) {
        // 248 is the largest multiple of 62 below 256. Larger bytes would favour the first characters.
        for (const byte of randomBytes(RANDOM_LENGTH))
          if (byte < 248 && random.length < RANDOM_LENGTH) random += ALPHABET[byte % ALPHABET.length];
      }
      return prefix + random + checksum(random);
    },
    looksLike: (text: string) => text.startsWith(prefix),
    /** A well-formed secret may still not exist. */
    isWellFormed: (text: string) =>
      pattern.test(text) &&
      checksum(text.slice(-RANDOM_LENGTH - CHECKSUM_LENGTH, -CHECKSUM_LENGTH)) ===
        text.slice(-CHECKSUM_LENGTH),
  };
}

/** Plain SHA-256 is enough, because secrets have at least 178 random bits and cannot be guessed. */
export function hashSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hash('sha256', secret, 'buffer'));
}

/** The comparison takes constant time. */
export function matchesSecret(secret: string, hash: Uint8Array): boolean {
  const given = hashSecret(secret);
  return given.length === hash.length && timingSafeEqual(given, hash);
}

/** Formats bytes like PostgreSQL's text output. */
export function byteaText(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes).toString('hex')}`;
}

/**
 * Every instance rejects a revoked credential within a second (contract: revocation). A cache entry lives
 * half of that time.
 */
const TTL_MS = 500;
const MAX_CACHED_LOOKUPS = 10_000;

/**
 * Caches look-ups of credentials so briefly that revocations apply in time. Concurrent callers share one
 * look-up. A failed look-up is not cached, and rejects with what `ask` throws.
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

/** Reads wait in the owner's queue and are charged to the owner (decisions/0016-fair-scheduling.md). */
export const readConnectionFor = (
  database: Pick<Database, 'cancellable'>,
  owner: string | undefined,
): Queryable => database.cancellable(new Cancellation(undefined, owner));

export type LookUpDatabase = Queryable & Pick<Database, 'cancellable'>;

const MAX_CACHED_ACCOUNTS = 10_000;
/**
 * Look-ups of unknown secrets share one owner, and so one slot on the database (decisions/0016-fair-scheduling.md).
 */
const UNKNOWN_OWNER = 'unknown credentials';

/**
 * Batches look-ups into one statement.
 * @throws {DatabaseError}
 */
export function lookUp<Row>(db: Queryable, statement: Statement<Row>, keyOf: (row: Row) => string) {
  return batchReads(async (keys: readonly string[]) => {
    const found = new Map((await db.query(statement, [keys])).map((row) => [keyOf(row), row]));
    return keys.map((key) => found.get(key));
  });
}

/**
 * Once a secret was found, its account is the owner of the look-up.
 * @throws {DatabaseError}
 */
function lookUpByHash<Row extends { readonly hash: Uint8Array; readonly userId: string }>(
  database: LookUpDatabase,
  statement: Statement<Row>,
) {
  const accounts = new LRUCache<string, string>({ max: MAX_CACHED_ACCOUNTS });
  /** `underWay` counts an owner's look-ups in progress, and `read` batches them. */
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
    const row = await readFor(owner ?? accounts.get(key) ?? UNKNOWN_OWNER, key);
    if (row === undefined) accounts.delete(key);
    else accounts.set(key, row.userId);
    return row;
  };
}

export interface SecretRow {
  readonly id: string;
  readonly userId: string;
  /** True if the last use was stored recently, so that this use need not be stored. */
  readonly fresh: boolean;
  /** True if the secret is revoked, expired by the database's clock, or belongs to a disabled account. */
  readonly invalid: boolean;
}

export interface SecretServices {
  readonly database: LookUpDatabase;
  readonly clock: Clock;
  readonly log: Logger;
}

/** In the SQL, `s` is the secret's row. */
interface SecretKind extends Pick<UsedRows, 'table' | 'usedAt' | 'prolongedTo'> {
  readonly kind: string;
  /** SQL such as `JOIN users u ON u.id = s.user_id`. */
  readonly joins?: string;
  /** SQL that is true if the secret is revoked or expired. */
  readonly invalidSql: string;
  /** Columns of every look-up, in addition to the fields of SecretRow. */
  readonly columns: readonly string[];
  /** Further columns of a look-up by the secret itself. */
  readonly columnsOfSecret?: readonly string[];
  /** The client gets this reason if the secret is unknown or invalid. */
  readonly rejection: string;
}

/**
 * Each look-up asks the database.
 * @throws {DatabaseError}
 */
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
    /**
     * The row may be invalid.
     * @param owner the account of the secret, if known
     */
    find: (secret: string, owner?: string) => findByHash(hashSecret(secret), owner),
    /** SQL for `fresh`; null if the secret is invalid, or if `same` is false. */
    freshIf: (id: string, same: string) =>
      `(SELECT ${fresh} FROM ${table} s ${joins} WHERE s.id = ${id}::uuid AND NOT (${invalidSql}) AND ${same})`,
    /** Resolves to undefined if the secret does not exist or is invalid. */
    async holding(id: string | undefined): Promise<ById | undefined> {
      const row = id === undefined ? undefined : await findById(id);
      return row?.invalid === false ? row : undefined;
    },
    recordUse: ({ id, fresh }: SecretRow) => recordUse(id, fresh),
    rejected: (row?: SecretRow): Invalid => ({
      outcome: 'invalid',
      kind,
      reason: rejection,
      accountId: row?.userId,
    }),
  };
}
