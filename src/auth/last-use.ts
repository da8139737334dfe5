import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.ts';
import { isOutage } from '../platform/db/errors.ts';
import { gathered } from '../platform/db/gathered.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';
import type { Logger } from '../platform/log.ts';

const INTERVAL_MS = 60_000;
/** INTERVAL_MS as SQL. */
export const FRESH = "interval '60 seconds'";
const MAX_ENTRIES = 10_000;

export interface LastUseOptions extends UseServices {
  /** What is used, for the log. */
  readonly what: string;
  readonly table: string;
  /** The type of the column "id". */
  readonly idType?: 'uuid' | 'text';
  /** The column with the last use. */
  readonly usedAt: string;
  /** SQL for the expiry that a use gives to a row that has not expired; without it, uses prolong nothing. */
  readonly prolongedTo?: string | undefined;
}

/** Records a use. `fresh` means that a recent use was already stored when the row was read. */
export type NoteUse = (id: string, fresh: boolean) => void;

/**
 * Stores the use of rows, given their ids. It takes no notice of rows that somebody has locked, as a client's
 * mutation can: their next use is stored, and neither they nor others in the statement wait. Locked in the subquery,
 * a row is one that still meets the condition.
 */
function touch({
  table,
  idType = 'uuid',
  usedAt,
  prolongedTo,
}: Pick<LastUseOptions, 'table' | 'idType' | 'usedAt' | 'prolongedTo'>) {
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

/** What the record of uses needs. */
export interface UseServices {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly log: Logger;
}

interface UseStore<Use> extends Pick<UseServices, 'clock' | 'log'> {
  /** What is stored, for the log. */
  readonly what: string;
  readonly identityOf: (use: Use) => string;
  /** Stores uses, of which no two have the same identity. */
  readonly store: (uses: readonly Use[]) => Promise<void>;
}

/** Uses inform people. Each identity is written at most once a minute, and no request waits for it. */
export function storeOncePerMinute<Use>({
  clock,
  log,
  what,
  identityOf,
  store,
}: UseStore<Use>): (use: Use) => void {
  const noted = new LRUCache<string, number>({ max: MAX_ENTRIES });
  const storeSoon = gathered(
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
      log[isOutage(error) ? 'debug' : 'warn']({ err: error }, `could not store ${what}`),
    );
  };
}

/** Last-used times also keep sessions from going idle. */
export function createLastUse({ database, clock, log, what, ...rows }: LastUseOptions): NoteUse {
  const statement = touch(rows);
  const note = storeOncePerMinute<string>({
    ...{ clock, log, what: `the last use of ${what}` },
    identityOf: (id) => id,
    async store(ids) {
      await database.query(statement, [ids]);
    },
  });
  return (id, fresh) => {
    if (!fresh) note(id);
  };
}
