import { randomUUID } from 'node:crypto';
import { type Caller, reportedClient } from '../../auth/principal.ts';
import type { Database } from '../../database/database.ts';
import { findLogLevel } from '../../database/errors.ts';
import { deletion } from '../../database/jobs.ts';
import { type Queryable, statement } from '../../database/statement.ts';
import { storePeriodically } from '../../platform/async.ts';
import type { Logger } from '../../platform/log/log.ts';
import type { DeprecatedElement } from './deprecations.ts';
import type { PublishedBy } from './operation-request.ts';

/** An element without a use in this time counts as unused. */
export const RETENTION_DAYS = 400;
/** The maximum number of rows per day that name a client, which leaves 500 of 10,000 rows for other clients. */
const MAX_NAMED_ROWS = 9_500;
/** Stands for clients above the maximum. */
const OTHER = 'other';

interface CountedUse {
  readonly element: string;
  readonly client: string;
  readonly kind: string;
  /** Null for an unpublished document, or if only the digest of the document is known. */
  readonly document: string | null;
  readonly digest: string | null;
  count: number;
}

/** Only one transaction at a time may count the rows of a day. */
const LOCK = statement<never>(
  'deprecated_uses_lock',
  `SELECT pg_advisory_xact_lock(hashtext('deprecated_uses'))`,
);
const BEGIN = statement<{ one: number }>(
  'deprecated_uses_begin',
  `INSERT INTO deprecated_use_stores AS s (instance, number, at) VALUES ($1::uuid, $2::int, now())
   ON CONFLICT (instance) DO UPDATE SET number = excluded.number, at = excluded.at WHERE s.number < excluded.number
   RETURNING 1 AS one`,
);
const TODAY = `(now() AT TIME ZONE 'UTC')::date`;
const STORE = statement<never>(
  'deprecated_uses_store',
  `WITH given AS (
     SELECT g.element, g.client, min(g.kind) AS kind, coalesce(p.release, '') AS release, sum(g.count) AS count
     FROM jsonb_to_recordset($1::jsonb)
       AS g (element text, client text, kind text, document text, digest text, count float8)
     LEFT JOIN LATERAL (
       SELECT p.release FROM document_publications p
       WHERE p.document_id = coalesce(g.document, (SELECT min(d.id) FROM trusted_documents d WHERE d.digest = g.digest::bytea))
       ORDER BY p.published_at DESC, p.client, p.release LIMIT 1
     ) p ON true
     GROUP BY g.element, g.client, coalesce(p.release, '')
   ), placed AS (
     SELECT g.*, k.client IS NOT NULL
       OR row_number() OVER (PARTITION BY k.client IS NULL ORDER BY g.count DESC)
         + (SELECT count(*) FROM deprecated_uses c WHERE c.day = ${TODAY} AND c.client <> '${OTHER}')
         <= ${MAX_NAMED_ROWS} AS fits
     FROM given g LEFT JOIN deprecated_uses k
       ON k.day = ${TODAY} AND k.element = g.element AND k.client = g.client AND k.release = g.release
   )
   INSERT INTO deprecated_uses AS u (day, element, client, release, kind, count)
   SELECT ${TODAY}, element, CASE WHEN fits THEN client ELSE '${OTHER}' END AS who, CASE WHEN fits THEN release ELSE '' END AS of,
     min(CASE WHEN fits THEN kind ELSE '${OTHER}' END), sum(count)
   FROM placed GROUP BY element, who, of
   ON CONFLICT (day, element, client, release) DO UPDATE
     SET count = u.count + excluded.count, last_used_at = excluded.last_used_at`,
);

/**
 * Each batch has a growing number and is stored once, so that the instance can retry a batch with unknown outcome.
 * @throws {DatabaseError}
 */
export const storeDeprecatedUsage = (
  database: Pick<Database, 'unitOfWork'>,
  { instance, number }: { readonly instance: string; readonly number: number },
  uses: readonly CountedUse[],
): Promise<void> =>
  database.unitOfWork().run(async (work) => {
    await work.query(LOCK, []);
    const begun = await work.query(BEGIN, [instance, number]);
    if (begun.length > 0) await work.query(STORE, [JSON.stringify(uses)]);
  });

export interface DeprecatedUsageRow {
  /** A schema coordinate. */
  readonly element: string;
  /** The id of an API key or OAuth client, or the kind of credentials. */
  readonly client: string;
  readonly clientName: string | null;
  readonly kind: string;
  /** Null for an unpublished document. */
  readonly release: string | null;
  readonly firstUsedAt: Date;
  readonly lastUsedAt: Date;
  readonly count: number;
}

const list = (clientNames: readonly string[]) =>
  statement<DeprecatedUsageRow>(
    'deprecated_uses_list',
    `SELECT u.element, u.client, n.name AS "clientName", min(u.kind) AS kind, nullif(u.release, '') AS release,
       min(u.first_used_at) AS "firstUsedAt", max(u.last_used_at) AS "lastUsedAt", sum(u.count)::float8 AS count
     FROM deprecated_uses u LEFT JOIN (${clientNames.join(' UNION ALL ')}) n ON n.id = u.client
     WHERE $1::timestamptz IS NULL OR u.last_used_at >= $1::timestamptz
     GROUP BY u.element, u.client, n.name, u.release
     ORDER BY u.element, max(u.last_used_at) DESC, u.client, u.release`,
  );

/**
 * Instances store their counts every 10 s, so recent uses may be missing. Days count as a whole.
 * @param clientNames SQL of ids and names
 * @throws {DatabaseError}
 */
export const listDeprecatedUsage = (
  db: Queryable,
  since: Date | undefined,
  clientNames: readonly string[],
): Promise<DeprecatedUsageRow[]> => db.query(list(clientNames), [since ?? null]);

export const oldDeprecatedUsage = deletion(
  'deprecated_uses',
  {
    table: 'deprecated_uses',
    key: 'day, element, client, release',
    condition: `day < ${TODAY} - ${RETENTION_DAYS}`,
  },
  { table: 'deprecated_use_stores', key: 'instance', condition: `at < now() - interval '7 days'` },
);

const FLUSH_MS = 10_000;
/** Limits the counters between two flushes. Further clients count as one for each element. */
const MAX_USES = 5_000;

/** Counts in memory and stores each batch once, every 10 s. A killed process loses the counts since the last batch. */
export function createDeprecatedUsage({
  database,
  log,
}: {
  readonly database: Pick<Database, 'unitOfWork'>;
  readonly log: Logger;
}) {
  const instance = randomUUID();
  let number = 0;
  let counted = new Map<string, CountedUse>();
  /** The batch that is retried until its outcome is known. */
  let pending: readonly CountedUse[] | undefined;

  function add(use: Omit<CountedUse, 'count'>): void {
    const { element, client, document, digest } = use;
    const key = `${element} ${client} ${document ?? ''} ${digest ?? ''}`;
    const known = counted.get(key);
    if (known !== undefined) known.count += 1;
    else if (counted.size < MAX_USES || client === OTHER) counted.set(key, { ...use, count: 1 });
    else add({ element, client: OTHER, kind: OTHER, document: null, digest: null });
  }

  async function store(): Promise<void> {
    while (pending !== undefined || counted.size > 0) {
      if (pending === undefined) {
        pending = [...counted.values()];
        counted = new Map();
        number += 1;
      }
      try {
        await storeDeprecatedUsage(database, { instance, number }, pending);
      } catch (error) {
        log.emit('usage.deprecated_store_failed', { err: error }, findLogLevel(error));
        return;
      }
      pending = undefined;
    }
  }

  return {
    note(
      caller: Caller | undefined,
      published: PublishedBy | undefined,
      used: readonly DeprecatedElement[],
    ): void {
      const { client, kind } = reportedClient(caller);
      const document = published?.by === 'id' ? published.key : null;
      const digest = published?.by === 'digest' ? published.key : null;
      for (const { element } of used) add({ element, client, kind, document, digest });
    },
    close: storePeriodically(FLUSH_MS, store),
  };
}

export type DeprecatedUsage = ReturnType<typeof createDeprecatedUsage>;
