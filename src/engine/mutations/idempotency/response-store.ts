import { hash, hkdfSync } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { DatabaseError } from '../../../database/errors.ts';
import { deletion, type Job } from '../../../database/jobs.ts';
import { type Query, type Queryable, statement } from '../../../database/statement.ts';
import type { UnitOfWork } from '../../../database/unit-of-work.ts';
import { decrypt, deriveKey, encrypt, OVERHEAD_BYTES } from '../../../platform/crypto.ts';
import { ApiError, responseTooLarge } from '../../../platform/errors.ts';
import { UNCOUNTED_BYTES } from '../../../platform/fairness/response-memory.ts';
import { fillTimestamp, type KeyLockSql } from '../../core/single-statement.ts';
import type { KeyLock } from '../single-statement-executor.ts';

/** A key and its account. */
export interface KeyOwner {
  readonly userId: string;
  readonly key: string;
}

/** What is stored of a key. */
export function hashKey({ key }: KeyOwner): Buffer {
  return hash('sha256', key, 'buffer');
}

/** Encrypts stored responses. A response may contain a secret that is shown once, such as a new API key. */
interface ResponseEncryption {
  encryptResponse(owner: KeyOwner, body: string): Buffer;
  /** @throws {Error} if the response was encrypted under a secret that the service does not have, or was altered */
  decryptResponse(owner: KeyOwner, encrypted: Buffer): string;
}

const KEY_BYTES = 32;

/** Derives the encryption key. Without `pepper`, the key is that of version 1.0.0, which only depends on the Idempotency-Key. */
function encryptionKey({ userId, key }: KeyOwner, pepper: Uint8Array = Buffer.alloc(0)): Uint8Array {
  const salt = Buffer.concat([pepper, Buffer.from(userId)]);
  return new Uint8Array(hkdfSync('sha256', key, salt, 'idempotency response', KEY_BYTES));
}

/**
 * Encrypts under the secret of the service and the Idempotency-Key, which is not stored: neither a copy of the database with
 * a guessed key nor the secret alone reveals a response. Responses under `previousSecret` and of version 1.0.0 stay readable.
 */
export function createResponseEncryption(
  secret: string,
  previousSecret: string | undefined,
): ResponseEncryption {
  const pepperOf = (of: string) => deriveKey(of, 'idempotency responses');
  const pepper = pepperOf(secret);
  const older = [...(previousSecret === undefined ? [] : [pepperOf(previousSecret)]), undefined];
  const open = (owner: KeyOwner, encrypted: Buffer, under: Uint8Array | undefined): string | undefined => {
    try {
      return decrypt(encryptionKey(owner, under), encrypted).toString();
    } catch {
      // The authentication tag does not fit (NIST SP 800-38D section 7.2): another key may.
      return undefined;
    }
  };
  return {
    encryptResponse: (owner, body) => encrypt(encryptionKey(owner, pepper), Buffer.from(body)),
    decryptResponse(owner, encrypted) {
      for (const under of [pepper, ...older]) {
        const body = open(owner, encrypted, under);
        if (body !== undefined) return body;
      }
      throw new Error(
        'a stored response cannot be decrypted: SECRET_KEY has changed, so set SECRET_KEY_PREVIOUS to its former value',
      );
    },
  };
}

/** Decides who may receive a stored response, besides what its mutation selects. */
export interface ReplayPolicy {
  /** The only session that may receive it, if it contains a secret that is shown once. */
  readonly sessionId: string | null;
  /** The scopes that revealed something of some rows in it; null if it has a secret that was shown without a session. */
  readonly scopes: readonly string[] | null;
}

/** The first response under a key, with the fingerprint of its mutation. */
export interface StoredResponse extends ReplayPolicy {
  readonly fingerprint: Buffer;
  readonly status: number;
  readonly body: string;
}

export interface StoreOptions {
  /** How long a response is retained. */
  readonly retentionMs: number;
  readonly maxResponseBytes: number;
  readonly responseEncryption: ResponseEncryption;
}

interface Row extends ReplayPolicy {
  readonly fingerprint: Buffer;
  readonly status: number;
  /** Null if larger than allowed. */
  readonly body: Buffer | null;
  readonly size: number;
  readonly createdAt: Date;
}

/** SQL for `ms` milliseconds ago, by the database's clock, which dates the rows. */
const ago = (ms: string) => `now() - ${ms}::float8 * interval '1 millisecond'`;

const FIND = statement<Row>(
  'idempotency_find',
  `SELECT fingerprint, status, CASE WHEN octet_length(body) <= $4::int THEN body END AS body,
     octet_length(body) AS size, session_id AS "sessionId", scopes, created_at AS "createdAt"
   FROM idempotency_keys WHERE user_id = $1 AND key_hash = $2 AND created_at > ${ago('$3')}`,
);

const INSERT =
  'INSERT INTO idempotency_keys AS kept (user_id, key_hash, fingerprint, status, body, session_id, scopes)';
/** The values of a row, as parameters from number `first` on. */
const valuesFrom = (first: number) =>
  ['uuid', 'bytea', 'bytea', 'smallint', 'bytea', 'uuid', 'text[]']
    .map((type, index) => `$${first + index}::${type}`)
    .join(', ');
/** The lock that holds a key between the transactions of its mutation (`KeyLockHolder`), as a session takes it. */
const holdOf = (name: string) => `hashtextextended(${name}, 20261124)`;
export const HOLD_KEY = `SELECT pg_try_advisory_lock(${holdOf('$1')}) AS done`;
export const RELEASE_KEY = `SELECT pg_advisory_unlock(${holdOf('$1')}) AS done`;
const lockOf = (name: string) => `pg_try_advisory_xact_lock(hashtextextended(${name}, 20261121))`;
/**
 * SQL that takes the lock of a key until the transaction ends. False if another transaction has the lock or the key is held
 * for another mutation. The SQL takes the lock of the holder first, for a moment. In the other order, the mutation for which
 * the key is held could find the key locked.
 */
const takeLock = (name: string) =>
  `CASE WHEN NOT pg_try_advisory_lock(${holdOf(name)}) THEN false
     WHEN ${lockOf(name)} THEN pg_advisory_unlock(${holdOf(name)}) ELSE NOT pg_advisory_unlock(${holdOf(name)}) END`;
/** SQL that takes the lock of a key, which is held for this mutation if `held` is true. */
const takeHeldLock = (name: string, held: string) =>
  `CASE WHEN ${held} THEN ${lockOf(name)} ELSE ${takeLock(name)} END`;
/** A response past its retention may still be stored and is replaced. One within it never is. */
const OR_REPLACE = `ON CONFLICT (user_id, key_hash) DO UPDATE
  SET fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body,
    session_id = excluded.session_id, scopes = excluded.scopes, created_at = excluded.created_at
  WHERE kept.created_at <= ${ago('$8')} RETURNING status`;

const STORE = statement<{ status: number }>(
  'idempotency_store',
  `${INSERT} VALUES (${valuesFrom(1)}) ${OR_REPLACE}`,
);

/** Stores a response when there is nothing else to commit. Takes the lock itself and stores nothing if the lock is taken. */
const STORE_ALONE = statement<{ status: number }>(
  'idempotency_store_alone',
  `WITH key AS MATERIALIZED (SELECT ${takeHeldLock('$9', '$10::bool')} AS locked)
   ${INSERT} SELECT ${valuesFrom(1)} FROM key WHERE locked ${OR_REPLACE}`,
);

/** The lock is taken before any write, so that a transaction that only waits for or holds it does not delay events. */
const TRY_LOCK = statement<{ locked: boolean }>(
  'idempotency_lock',
  `SELECT ${takeHeldLock('$1', '$2::bool')} AS locked`,
);

/**
 * The lock of a key in the statement of its mutation. If the key is locked or has a response, even one past its
 * retention, nothing is written. The lock keeps a duplicate from waiting for the row, in a transaction that would delay
 * events.
 */
const KEY_LOCK: KeyLockSql = {
  take: (first) => takeLock(`$${first}::text`),
  store: (first, source) => `${INSERT} SELECT ${valuesFrom(first + 1)} ${source}
    ON CONFLICT (user_id, key_hash) DO NOTHING RETURNING 1`,
};

/** Throws COMPLEXITY_LIMIT if the response is larger than `maxBytes`, which was higher when it was stored. */
function responseOf(
  owner: KeyOwner,
  row: Row | undefined,
  { maxResponseBytes: maxBytes, responseEncryption }: StoreOptions,
): StoredResponse | undefined {
  if (row === undefined) return undefined;
  const { body, size, createdAt, ...rest } = row;
  if (body === null) throw responseTooLarge(size - OVERHEAD_BYTES, maxBytes);
  return { ...rest, body: fillTimestamp(responseEncryption.decryptResponse(owner, body), createdAt) };
}

const findQuery = (owner: KeyOwner, { retentionMs }: StoreOptions, mostBytes: number): Query<Row> => ({
  statement: FIND,
  values: [owner.userId, hashKey(owner), retentionMs, mostBytes + OVERHEAD_BYTES],
});

/**
 * The response stored within the retention, if any. One indexed read, and a second if it is long. Before the second,
 * `reserve` gets its number of bytes, and may throw. Throws COMPLEXITY_LIMIT if it exceeds the limit; it stays stored.
 */
export async function findResponse(
  db: Queryable,
  owner: KeyOwner,
  limits: StoreOptions,
  reserve: (bytes: number) => void,
): Promise<StoredResponse | undefined> {
  const { maxResponseBytes } = limits;
  const find = async (mostBytes: number) => {
    const { statement: sql, values } = findQuery(owner, limits, mostBytes);
    const [row] = await db.query(sql, values);
    return row;
  };
  let row = await find(Math.min(UNCOUNTED_BYTES, maxResponseBytes));
  const bytes = (row?.size ?? 0) - OVERHEAD_BYTES;
  if (row?.body === null && bytes <= maxResponseBytes) {
    reserve(bytes);
    row = await find(maxResponseBytes);
  }
  return responseOf(owner, row, limits);
}

const valuesOf = (
  owner: KeyOwner,
  { fingerprint, status, body, sessionId, scopes }: StoredResponse,
  { responseEncryption }: Pick<StoreOptions, 'responseEncryption'>,
) => [
  owner.userId,
  hashKey(owner),
  fingerprint,
  status,
  responseEncryption.encryptResponse(owner, body),
  sessionId,
  scopes,
];

export const lockName = ({ userId, key }: KeyOwner) => `${userId}/${key}`;

/** Locks a key and stores its response in the statement of the mutation. */
export const keyLock = (
  owner: KeyOwner,
  responseOf: (body: string) => StoredResponse,
  options: Pick<StoreOptions, 'responseEncryption'>,
): KeyLock => ({
  sql: KEY_LOCK,
  valuesFor: (body) => [lockName(owner), ...valuesOf(owner, responseOf(body), options)],
});

/**
 * Stores the response in the transaction of the mutation. Throws DatabaseError, also if a response is stored
 * already. The lock prevents that, and the primary key does if two versions of the service lock differently.
 */
export async function storeResponse(
  db: Queryable,
  owner: KeyOwner,
  response: StoredResponse,
  options: StoreOptions,
): Promise<void> {
  const stored = await db.query(STORE, [...valuesOf(owner, response, options), options.retentionMs]);
  if (stored.length === 0) throw new DatabaseError('conflict', new Error('the key already has a response'));
}

/**
 * Stores the response of a rolled-back mutation in a separate statement. `held`: the key is held for this mutation. Resolves
 * to false if another request holds the key or has stored a response, which then is the response of the key.
 */
export async function storeResponseAlone(
  db: Queryable,
  owner: KeyOwner,
  response: StoredResponse,
  options: StoreOptions,
  held: boolean,
): Promise<boolean> {
  const values = [...valuesOf(owner, response, options), options.retentionMs, lockName(owner), held];
  const stored = await db.query(STORE_ALONE, values);
  return stored.length > 0;
}

/** Whether the key is locked by this transaction, and the response that its previous holder stored, if any. */
interface LockedKey {
  readonly locked: boolean;
  readonly found: StoredResponse | undefined;
}

/**
 * Begins the transaction and locks the key, unless another mutation on any instance has it. `held`: the key is held for
 * this mutation. The look-up is a separate statement, which sees everything that was committed before the lock was taken.
 * Throws like `findResponse`.
 */
export async function lockKey(
  work: UnitOfWork,
  owner: KeyOwner,
  limits: StoreOptions,
  held: boolean,
): Promise<LockedKey> {
  const lock: Query<{ locked: boolean }> = { statement: TRY_LOCK, values: [lockName(owner), held] };
  const [[taken], [row]] = await work.queryInOrder(lock, findQuery(owner, limits, limits.maxResponseBytes));
  if (taken?.locked !== true) return { locked: false, found: undefined };
  return { locked: true, found: responseOf(owner, row, limits) };
}

/** Deletes the stored responses past the retention. One that a new one has replaced is not old. */
export const oldResponses = (retentionMs: number): Job =>
  deletion('idempotency_keys', {
    table: 'idempotency_keys',
    key: 'user_id, key_hash',
    condition: "created_at < now() - $2::float8 * interval '1 millisecond'",
    values: [retentionMs],
  });

const MAX_ACCOUNTS = 10_000;
/** The sum is read again once this process has stored this fraction (1/8) of the account's budget. */
const PART = 8;
/** How long an account that is over its budget is rejected before its sum is read again. */
const ASK_AGAIN_MS = 10_000;
/** What a row and its index entries take besides the body. */
const ROW_BYTES = 256;
/** Stored responses expire one by one, so the budget frees up gradually. */
const RETRY_AFTER_SECONDS = 60;

const SUM = statement<{ bytes: number }>(
  'idempotency_bytes',
  `SELECT sum(octet_length(body) + ${ROW_BYTES})::float8 AS bytes FROM idempotency_keys
   WHERE user_id = $1 AND created_at > now() - $2::float8 * interval '1 millisecond'`,
);

interface Account {
  readonly measuredBytes: number;
  readonly measuredAtMs: number;
  /** Stored by this process since then. */
  sinceBytes: number;
  /** The sum that is being read, which replaces this one. */
  measuring: Promise<Account> | undefined;
}

export interface StoredBytesOptions {
  readonly retentionMs: number;
  /** What an account may have stored. */
  readonly maxBytes: number;
}

/**
 * What the accounts have stored under Idempotency-Keys (contract section 6). Measured by the database now and then, and
 * added up in between: a total that each mutation updates would make the mutations of an account wait for each other,
 * and a question about each would be a statement more. So an account may go beyond its budget by an eighth for each
 * instance.
 */
export function createStoredBytes({ retentionMs, maxBytes }: StoredBytesOptions) {
  const accounts = new LRUCache<string, Account>({ max: MAX_ACCOUNTS });

  async function measure(db: Queryable, userId: string, account: Account): Promise<Account> {
    const measuredAtMs = performance.now();
    const before = account.sinceBytes;
    const [row] = await db.query(SUM, [userId, retentionMs]);
    // What was stored meanwhile may be in both: rather that than in neither.
    const sinceBytes = account.sinceBytes - before;
    const measured = { measuredBytes: row?.bytes ?? 0, measuredAtMs, sinceBytes, measuring: undefined };
    accounts.set(userId, measured);
    return measured;
  }

  const isOver = ({ measuredBytes, sinceBytes }: Account) => measuredBytes + sinceBytes >= maxBytes;

  /** Counts a response that is stored. */
  function stored(userId: string, body: string): void {
    const account = accounts.get(userId);
    if (account !== undefined) account.sinceBytes += Buffer.byteLength(body) + OVERHEAD_BYTES + ROW_BYTES;
  }

  const rejection = () =>
    new ApiError(
      'RATE_LIMITED',
      `The stored responses of your account have reached the limit of ${maxBytes} bytes. Wait until older ones expire, or send the mutation without an Idempotency-Key.`,
      { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } },
    );

  return {
    /** Whether an account may store nothing more. `db` has it as its owner. Throws DatabaseError. */
    isFull(userId: string, db: Queryable): boolean | Promise<boolean> {
      const known = accounts.get(userId);
      if (known === undefined) {
        accounts.set(userId, { measuredBytes: 0, measuredAtMs: 0, sinceBytes: 0, measuring: undefined });
        return false;
      }
      const over = isOver(known);
      if (!over && known.sinceBytes < maxBytes / PART) return false;
      if (over && performance.now() - known.measuredAtMs < ASK_AGAIN_MS) return true;
      known.measuring ??= measure(db, userId, known).finally(() => {
        known.measuring = undefined;
      });
      return known.measuring.then(isOver);
    },
    /**
     * Counts a response that is about to be stored. Throws the rejection if others have used up the budget since it was
     * looked at: so an account goes beyond it by one response at most, here.
     */
    take(userId: string, body: string): void {
      const account = accounts.get(userId);
      if (account !== undefined && isOver(account)) throw rejection();
      stored(userId, body);
    },
    stored,
    rejection,
  };
}
