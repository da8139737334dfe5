import { deletion } from '../jobs/job.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';
import type { DocumentPolicy } from './policy.ts';

/** Rows kept of a client, and of all. */
const MAX_ROWS_OF_CLIENT = 100;
const MAX_ROWS = 10_000;
/** Texts without a digest: more of a client than are kept apart. */
export const NO_DIGEST = '\\x';

/** SQL: whether a document with this digest is published. */
const isPublished = (digest: string): string =>
  `EXISTS (SELECT FROM trusted_documents d JOIN document_publications p ON p.document_id = d.id WHERE d.digest = ${digest})`;

const STORE = statement<{ client: string; count: number }>(
  'text_uses_store',
  `WITH given AS (
     SELECT g.*, NOT ${isPublished('g.digest')} AS unpublished
     FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::float8[]) AS g (client, kind, digest, names, count)
   ), placed AS (
     SELECT g.client, g.kind, g.names, g.count, CASE WHEN k.client IS NOT NULL
       OR row_number() OVER (PARTITION BY g.client, k.client IS NULL ORDER BY g.count DESC)
         + (SELECT count(*) FROM text_uses c WHERE c.client = g.client AND ($6 OR NOT ${isPublished('c.digest')}))
         <= ${MAX_ROWS_OF_CLIENT}
       AND row_number() OVER (PARTITION BY k.client IS NULL ORDER BY g.count DESC)
         + (SELECT count(*) FROM text_uses) <= ${MAX_ROWS}
       THEN g.digest ELSE ''::bytea END AS digest
     FROM given g LEFT JOIN text_uses k ON k.client = g.client AND k.digest = g.digest
     WHERE g.unpublished OR $6
   ), stored AS (
     INSERT INTO text_uses AS u (client, kind, digest, operation_name, count)
     SELECT client, min(kind), digest, CASE WHEN digest <> '' THEN min(names) END, sum(count)
     FROM placed GROUP BY client, digest ORDER BY client, digest
     ON CONFLICT (client, digest) DO UPDATE SET count = u.count + excluded.count, last_used_at = now()
   )
   SELECT client, sum(count) AS count FROM given WHERE unpublished AND digest <> '' GROUP BY client`,
);

/** What was counted, by column: a row for each client and digest. */
export interface CountedTexts {
  readonly client: string[];
  readonly kind: string[];
  readonly digest: string[];
  readonly names: (string | null)[];
  readonly count: number[];
}

/**
 * Adds what was counted of texts that are not published; with `all`, of the others, too. Returns for each client how many
 * uses of those that are not published. Throws DatabaseError.
 */
export const storeTextUses = (
  db: Queryable,
  { client, kind, digest, names, count }: CountedTexts,
  all: boolean,
): Promise<{ client: string; count: number }[]> => db.query(STORE, [client, kind, digest, names, count, all]);

/** Texts that nobody has sent for 30 days, and rare ones of a day ago where those of their client get many. */
export const oldTextUses = deletion('text_uses', {
  table: 'text_uses',
  key: 'client, digest',
  condition: `last_used_at <= now() - interval '30 days' OR count <= 2 AND last_used_at <= now() - interval '1 day'
    AND (SELECT count(*) FROM text_uses c WHERE c.client = text_uses.client) > ${MAX_ROWS_OF_CLIENT / 2}`,
});

/** A text that a client sends. */
export interface TextUse {
  /** The id of an API key or OAuth client, or the kind of credentials. */
  readonly client: string;
  readonly clientName: string | null;
  /** The kind of its credentials. */
  readonly kind: string;
  readonly operationName: string | null;
  /** SHA-256 of the text without what GraphQL ignores; null for more texts than are kept apart. */
  readonly digest: string | null;
  /** The first policy that refuses it; null where that is not known, without a digest. */
  readonly refusedBy: 'listed' | 'required' | null;
  readonly count: number;
  readonly firstUsedAt: Date;
  readonly lastUsedAt: Date;
}

const list = (clientNames: readonly string[]) =>
  statement<TextUse>(
    'text_uses_list',
    `SELECT u.client, n.name AS "clientName", u.kind, u.operation_name AS "operationName",
       nullif(encode(u.digest, 'hex'), '') AS digest,
       CASE WHEN p.published THEN 'required' WHEN u.digest <> '' THEN 'listed' END AS "refusedBy",
       u.count::float8 AS count, u.first_used_at AS "firstUsedAt", u.last_used_at AS "lastUsedAt"
     FROM text_uses u LEFT JOIN (${clientNames.join(' UNION ALL ')}) n ON n.id = u.client
     CROSS JOIN LATERAL (SELECT ${isPublished('u.digest')} AS published) p
     WHERE $1 OR NOT p.published ORDER BY u.last_used_at DESC, u.client, u.digest`,
  );

/**
 * The texts that clients send and the step after a policy would refuse, the last used first. As far as instances have stored
 * them, which they do every 10 s. Throws DatabaseError.
 */
export const listTextUses = (
  db: Queryable,
  policy: DocumentPolicy,
  clientNames: readonly string[],
): Promise<TextUse[]> => db.query(list(clientNames), [policy === 'listed' || policy === 'required']);
