import { hash, hkdfSync } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { DatabaseError } from '../../../database/errors.ts';
import { deletion, type Job } from '../../../database/jobs.ts';
import { type Query, type Queryable, statement } from '../../../database/statement.ts';
import type { UnitOfWork } from '../../../database/unit-of-work.ts';
import { decrypt, deriveKey, encrypt, OVERHEAD_BYTES } from '../../../platform/crypto.ts';
import { responseTooLarge, tryLater } from '../../../platform/errors.ts';
import { UNCOUNTED_BYTES } from '../../../platform/fairness/response-memory.ts';
import { fillTimestamp, type KeyLockSql } from '../../core/single-statement.ts';
import type { KeyLock } from '../single-statement-executor.ts';

export interface KeyOwner {
  readonly userId: string;
  readonly key: string;
}

export function hashKey({ key }: KeyOwner): Buffer {
  return hash('sha256', key, 'buffer');
}

const KEY_BYTES = 32;

/** Without `pepper`, the encryption key depends only on account and Idempotency-Key, as in version 1.0.0. */
function encryptionKey({ userId, key }: KeyOwner, pepper: Uint8Array = Buffer.alloc(0)): Uint8Array {
  const salt = Buffer.concat([pepper, Buffer.from(userId)]);
  return new Uint8Array(hkdfSync('sha256', key, salt, 'idempotency response', KEY_BYTES));
}

/**
 * A response may contain a secret that is shown once, such as a new API key. Encrypts under the secret of the service and
 * the Idempotency-Key, which is not stored. Neither a copy of the database with a guessed key nor the secret alone reveals
 * a response. Responses encrypted under `previousSecret` or by version 1.0.0 stay readable.
 */
export function createResponseEncryption(secret: string, previousSecret: string | undefined) {
  const derivePepper = (of: string) => deriveKey(of, 'idempotency responses');
  const pepper = derivePepper(secret);
  const older = [...(previousSecret === undefined ? [] : [derivePepper(previousSecret)]), undefined];
  const open = (owner: KeyOwner, encrypted: Buffer, under: Uint8Array | undefined): string | undefined => {
    try {
      return decrypt(encryptionKey(owner, under), encrypted).toString();
    } catch {
      // The authentication tag does not match (NIST SP 800-38D, authenticated decryption), but another key may fit.
      return undefined;
    }
  };
  return {
    encryptResponse: (owner: KeyOwner, body: string): Buffer =>
      encrypt(encryptionKey(owner, pepper), Buffer.from(body)),
    /** @throws {Error} if the secret of the service has changed or the response was altered */
    decryptResponse(owner: KeyOwner, encrypted: Buffer): string {
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

type ResponseEncryption = ReturnType<typeof createResponseEncryption>;

/** Restricts who may receive a stored response, in addition to the permissions of the selected fields. */
export interface ReplayPolicy {
  /** The only session that may receive the response, if it contains a secret that is shown once. */
  readonly sessionId: string | null;
  /**
   * The scopes that revealed something of some rows. Null if the response has a secret that was shown without a
   * session.
   */
  readonly scopes: readonly string[] | null;
}

export interface StoredResponse extends ReplayPolicy {
  readonly fingerprint: Buffer;
  readonly status: number;
  readonly body: string;
}

export interface StoreOptions {
  readonly retentionMs: number;
  readonly maxResponseBytes: number;
  readonly responseEncryption: ResponseEncryption;
}

interface Row extends ReplayPolicy {
  readonly fingerprint: Buffer;
  readonly status: number;
  /** Null if the body is larger than the statement allows. */
  readonly body: Buffer | null;
  readonly size: number;
  readonly createdAt: Date;
}

/** The clock of the database sets `created_at`. */
const ago = (ms: string) => `now() - ${ms}::float8 * interval '1 millisecond'`;

const FIND = statement<Row>(
  'idempotency_find',
  `SELECT fingerprint, status, CASE WHEN octet_length(body) <= $4::int THEN body END AS body,
     octet_length(body) AS size, session_id AS "sessionId", scopes, created_at AS "createdAt"
   FROM idempotency_keys WHERE user_id = $1 AND key_hash = $2 AND created_at > ${ago('$3')}`,
);

const INSERT =
  'INSERT INTO idempotency_keys AS kept (user_id, key_hash, fingerprint, status, body, session_id, scopes)';
const valuesFrom = (first: number) =>
  ['uuid', 'bytea', 'bytea', 'smallint', 'bytea', 'uuid', 'text[]']
    .map((type, index) => `$${first + index}::${type}`)
    .join(', ');
/** A session takes this lock to hold a key between transactions (`KeyLockHolder`). */
const formatHoldLock = (name: string) => `hashtextextended(${name}, 20261124)`;
export const HOLD_KEY = `SELECT pg_try_advisory_lock(${formatHoldLock('$1')}) AS done`;
export const RELEASE_KEY = `SELECT pg_advisory_unlock(${formatHoldLock('$1')}) AS done`;
const formatLock = (name: string) => `pg_try_advisory_xact_lock(hashtextextended(${name}, 20261121))`;
/**
 * Locks a key until the transaction ends. The SQL is false if another transaction has the lock or the key is held for
 * another mutation. The lock of the holder is taken first, for a moment. In the other order, the mutation for which the
 * key is held could find the key locked.
 */
const takeLock = (name: string) =>
  `CASE WHEN NOT pg_try_advisory_lock(${formatHoldLock(name)}) THEN false
     WHEN ${formatLock(name)} THEN pg_advisory_unlock(${formatHoldLock(name)}) ELSE NOT pg_advisory_unlock(${formatHoldLock(name)}) END`;
/** SQL that locks a key; `held` is true if the key is held for this mutation. */
const takeHeldLock = (name: string, held: string) =>
  `CASE WHEN ${held} THEN ${formatLock(name)} ELSE ${takeLock(name)} END`;
/** A response past its retention may still be in the table and is replaced. */
const OR_REPLACE = `ON CONFLICT (user_id, key_hash) DO UPDATE
  SET fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body,
    session_id = excluded.session_id, scopes = excluded.scopes, created_at = excluded.created_at
  WHERE kept.created_at <= ${ago('$8')} RETURNING status`;

const STORE = statement<{ status: number }>(
  'idempotency_store',
  `${INSERT} VALUES (${valuesFrom(1)}) ${OR_REPLACE}`,
);

/** Stores a response when there is nothing else to commit, unless the lock is taken. */
const STORE_ALONE = statement<{ status: number }>(
  'idempotency_store_alone',
  `WITH key AS MATERIALIZED (SELECT ${takeHeldLock('$9', '$10::bool')} AS locked)
   ${INSERT} SELECT ${valuesFrom(1)} FROM key WHERE locked ${OR_REPLACE}`,
);

/**
 * The lock is taken before any write, so that a transaction that waits for the lock or only holds it does not delay
 * events.
 */
const TRY_LOCK = statement<{ locked: boolean }>(
  'idempotency_lock',
  `SELECT ${takeHeldLock('$1', '$2::bool')} AS locked`,
);

/**
 * Nothing is written if the key is locked or has a response, even an expired response. Without the lock, a duplicate
 * would wait for the row in a transaction that delays events.
 */
const KEY_LOCK: KeyLockSql = {
  take: (first) => takeLock(`$${first}::text`),
  store: (first, source) => `${INSERT} SELECT ${valuesFrom(first + 1)} ${source}
    ON CONFLICT (user_id, key_hash) DO NOTHING RETURNING 1`,
};

/** @throws {ApiError} COMPLEXITY_LIMIT if the limit was lowered after the response was stored */
function toStoredResponse(
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
 * Reads a response within its retention. A long response needs a second indexed read, before which `reserve` gets the
 * number of bytes and may throw.
 * @throws {ApiError} COMPLEXITY_LIMIT if the response exceeds the limit; the response stays stored
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
  return toStoredResponse(owner, row, limits);
}

const toValues = (
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

export const keyLock = (
  owner: KeyOwner,
  toStoredResponse: (body: string) => StoredResponse,
  options: Pick<StoreOptions, 'responseEncryption'>,
): KeyLock => ({
  sql: KEY_LOCK,
  valuesFor: (body) => [lockName(owner), ...toValues(owner, toStoredResponse(body), options)],
});

/** @throws {DatabaseError} if the key already has a response, as two versions of the service may lock differently */
export async function storeResponse(
  db: Queryable,
  owner: KeyOwner,
  response: StoredResponse,
  options: StoreOptions,
): Promise<void> {
  const stored = await db.query(STORE, [...toValues(owner, response, options), options.retentionMs]);
  if (stored.length === 0) throw new DatabaseError('conflict', new Error('the key already has a response'));
}

/**
 * Stores the response of a rolled-back mutation.
 * @param held the key is held for this mutation
 * @returns false if another request holds the key or has stored the response of the key
 */
export async function storeResponseAlone(
  db: Queryable,
  owner: KeyOwner,
  response: StoredResponse,
  options: StoreOptions,
  held: boolean,
): Promise<boolean> {
  const values = [...toValues(owner, response, options), options.retentionMs, lockName(owner), held];
  const stored = await db.query(STORE_ALONE, values);
  return stored.length > 0;
}

/** `found` is the response that the previous holder stored. */
interface LockedKey {
  readonly locked: boolean;
  readonly found: StoredResponse | undefined;
}

/**
 * The look-up is a separate statement, so that it sees everything committed before the lock was taken.
 * @param held the key is held for this mutation
 * @throws {ApiError} the errors of `findResponse`
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
  return { locked: true, found: toStoredResponse(owner, row, limits) };
}

export const oldResponses = (retentionMs: number): Job =>
  deletion('idempotency_keys', {
    table: 'idempotency_keys',
    key: 'user_id, key_hash',
    condition: "created_at < now() - $2::float8 * interval '1 millisecond'",
    values: [retentionMs],
  });

const MAX_ACCOUNTS = 10_000;
/** The sum is read again after each eighth of the account's budget. */
const PART = 8;
/** An account over its budget is rejected this long before its sum is read again. */
const ASK_AGAIN_MS = 10_000;
/** Size of a row and its index entries without the body. */
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
  /** Bytes that this process has stored since the measurement. */
  sinceBytes: number;
  measuring: Promise<Account> | undefined;
}

export interface StoredBytesOptions {
  readonly retentionMs: number;
  readonly maxBytes: number;
}

/**
 * Limits the bytes that each account stores under Idempotency-Keys (contract: idempotency). The database measures the
 * sum now and then, and the process adds up the bytes in between. A stored total would make the mutations of an account
 * wait for each other, and a sum for each mutation would cost a statement. An account may therefore exceed its budget
 * by 1/8 for each instance.
 */
export function createStoredBytes({ retentionMs, maxBytes }: StoredBytesOptions) {
  const accounts = new LRUCache<string, Account>({ max: MAX_ACCOUNTS });

  async function measure(db: Queryable, userId: string, account: Account): Promise<Account> {
    const measuredAtMs = performance.now();
    const before = account.sinceBytes;
    const [row] = await db.query(SUM, [userId, retentionMs]);
    // A response stored during the measurement may be counted twice, which is better than not at all.
    const sinceBytes = account.sinceBytes - before;
    const measured = { measuredBytes: row?.bytes ?? 0, measuredAtMs, sinceBytes, measuring: undefined };
    accounts.set(userId, measured);
    return measured;
  }

  const isOver = ({ measuredBytes, sinceBytes }: Account) => measuredBytes + sinceBytes >= maxBytes;

  function stored(userId: string, body: string): void {
    const account = accounts.get(userId);
    if (account !== undefined) account.sinceBytes += Buffer.byteLength(body) + OVERHEAD_BYTES + ROW_BYTES;
  }

  const rejection = () =>
    tryLater(
      'RATE_LIMITED',
      `The stored responses of your account have reached the limit of ${maxBytes} bytes. Wait until older ones expire, or send the mutation without an Idempotency-Key.`,
      RETRY_AFTER_SECONDS,
    );

  return {
    /**
     * True if the account may store nothing more. The owner of `db` is the account.
     * @throws {DatabaseError}
     */
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
     * Requests may have used up the budget since `isFull`, so the account exceeds it by at most one response here.
     * @throws {ApiError} RATE_LIMITED
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
