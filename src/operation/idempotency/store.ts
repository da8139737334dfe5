import { answerTooLarge } from '../../graphql/errors.ts';
import { DatabaseError } from '../../platform/db/errors.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import { hashKey, type KeyOwner, SEAL_BYTES, seal, unseal } from './seal.ts';

/** What decides who may be given a response again, besides what its mutation asks for. */
export interface Disclosure {
  /** The session that alone may be given it, since it holds a secret that is shown once. */
  readonly sessionId: string | null;
  /** The scopes that it shows rows of other accounts by; null where that is not known. */
  readonly scopes: readonly string[] | null;
}

/** The first response under a key, and of which mutation it is. */
export interface StoredResponse extends Disclosure {
  readonly fingerprint: Buffer;
  readonly status: number;
  readonly body: string;
}

interface Row extends Disclosure {
  readonly fingerprint: Buffer;
  readonly status: number;
  /** Null where it is larger than may be. */
  readonly body: Buffer | null;
  readonly size: number;
}

/** So many milliseconds ago, by the database's clock, which dates the rows. */
const ago = (ms: string) => `now() - ${ms}::float8 * interval '1 millisecond'`;

const FIND = statement<Row>(
  'idempotency_find',
  `SELECT fingerprint, status, CASE WHEN octet_length(body) <= $4::int THEN body END AS body,
     octet_length(body) AS size, session_id AS "sessionId", scopes
   FROM idempotency_keys WHERE user_id = $1 AND key_hash = $2 AND created_at > ${ago('$3')}`,
);

const INSERT = `INSERT INTO idempotency_keys AS kept (user_id, key_hash, fingerprint, status, body, session_id, scopes)`;
const VALUES = '$1::uuid, $2::bytea, $3::bytea, $4::smallint, $5::bytea, $6::uuid, $7::text[]';
/** A response past its time may still be there: it gives way. One within its time never does. */
const OR_REPLACE = `ON CONFLICT (user_id, key_hash) DO UPDATE
  SET fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body,
    session_id = excluded.session_id, scopes = excluded.scopes, created_at = excluded.created_at
  WHERE kept.created_at <= ${ago('$8')} RETURNING status`;

const STORE = statement<{ status: number }>(
  'idempotency_store',
  `${INSERT} VALUES (${VALUES}) ${OR_REPLACE}`,
);

/** The same with nothing else to commit: the lock is taken in passing, and nothing is stored where another has it. */
const STORE_ALONE = statement<{ status: number }>(
  'idempotency_store_alone',
  `WITH key AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(hashtextextended($9, 20261121)) AS locked)
   ${INSERT} SELECT ${VALUES} FROM key WHERE locked ${OR_REPLACE}`,
);

/** Taken before anything is written: a transaction that only waits or holds this keeps no events back. */
const TRY_LOCK = statement<{ locked: boolean }>(
  'idempotency_lock',
  'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 20261121)) AS locked',
);

const PRUNE = statement<{ dropped: number }>(
  'idempotency_prune',
  `WITH old AS (SELECT user_id, key_hash FROM idempotency_keys WHERE created_at < ${ago('$1')} LIMIT $2),
     dropped AS (DELETE FROM idempotency_keys k USING old WHERE k.user_id = old.user_id AND k.key_hash = old.key_hash AND k.created_at < ${ago('$1')} RETURNING 1)
   SELECT count(*)::int AS dropped FROM dropped`,
);

const BATCH = 500;

/**
 * The response stored within the retention; undefined where there is none. One indexed read. Throws COMPLEXITY_LIMIT where it
 * is larger than `maxBytes`, since that was more: it stays stored.
 */
export async function findResponse(
  db: Queryable,
  owner: KeyOwner,
  retentionMs: number,
  maxBytes: number,
): Promise<StoredResponse | undefined> {
  const values = [owner.userId, hashKey(owner), retentionMs, maxBytes + SEAL_BYTES];
  const [row] = await db.query(FIND, values);
  if (row === undefined) return undefined;
  const { body, size, ...rest } = row;
  if (body === null) throw answerTooLarge(size - SEAL_BYTES, maxBytes);
  return { ...rest, body: unseal(owner, body) };
}

const valuesOf = (
  owner: KeyOwner,
  { fingerprint, status, body, sessionId, scopes }: StoredResponse,
  retentionMs: number,
) => [owner.userId, hashKey(owner), fingerprint, status, seal(owner, body), sessionId, scopes, retentionMs];

const lockName = ({ userId, key }: KeyOwner) => `${userId}/${key}`;

/**
 * Stores the response in the transaction of the mutation. Throws DatabaseError, also where there is one already:
 * the lock keeps that from happening, and the primary key does where two versions of the service lock differently.
 */
export async function storeResponse(
  db: Queryable,
  owner: KeyOwner,
  response: StoredResponse,
  retentionMs: number,
): Promise<void> {
  const stored = await db.query(STORE, valuesOf(owner, response, retentionMs));
  if (stored.length === 0) throw new DatabaseError('conflict', new Error('the key has a response already'));
}

/**
 * Stores the response to a mutation that is undone, in a statement of its own. False where another one has the key by
 * now, or a response already: then it is the other that counts, and this one never happened.
 */
export async function storeResponseAlone(
  db: Queryable,
  owner: KeyOwner,
  response: StoredResponse,
  retentionMs: number,
): Promise<boolean> {
  const stored = await db.query(STORE_ALONE, [...valuesOf(owner, response, retentionMs), lockName(owner)]);
  return stored.length > 0;
}

/** Takes the key for this transaction; false where another one, anywhere, has it. */
export async function tryLockKey(db: Queryable, owner: KeyOwner): Promise<boolean> {
  const [row] = await db.query(TRY_LOCK, [lockName(owner)]);
  return row?.locked ?? false;
}

/** Drops the responses older than the retention, batch by batch. Returns how many. */
export async function pruneResponses(db: Queryable, retentionMs: number): Promise<number> {
  let total = 0;
  for (;;) {
    const [row] = await db.query(PRUNE, [retentionMs, BATCH]);
    const dropped = row?.dropped ?? 0;
    total += dropped;
    if (dropped < BATCH) return total;
  }
}
