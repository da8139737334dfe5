import { LRUCache } from 'lru-cache';
import { ApiError } from '../../graphql/errors.ts';
import { OVERHEAD_BYTES } from '../../platform/aes-gcm.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';

const MAX_ACCOUNTS = 10_000;
/** The sum is read again once this process has stored this fraction (1/8) of the account's budget. */
const PART = 8;
/** How long an account that is over its budget is refused before its sum is read again. */
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

  const refusal = () =>
    new ApiError(
      'RATE_LIMITED',
      `The responses stored under your Idempotency-Keys have reached ${maxBytes} bytes. Try again when older ones have expired, or without a key.`,
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
     * Counts a response that is about to be stored. Throws the refusal if others have used up the budget since it was
     * looked at: so an account goes beyond it by one response at most, here.
     */
    take(userId: string, body: string): void {
      const account = accounts.get(userId);
      if (account !== undefined && isOver(account)) throw refusal();
      stored(userId, body);
    },
    stored,
    refusal,
  };
}
