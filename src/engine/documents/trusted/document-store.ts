import { deletion } from '../../../database/jobs.ts';
import { type Queryable, statement } from '../../../database/statement.ts';
import type { UnitOfWork } from '../../../database/unit-of-work.ts';
import type { Config } from '../../../platform/config/config.ts';

export type DocumentPolicy = Config['trustedDocuments'];

export interface NewDocument {
  readonly id: string;
  readonly text: string;
  readonly digest: string;
  readonly operationName: string | null;
}

/** The release is empty if the client has none. */
export interface Release {
  readonly client: string;
  readonly release: string;
}

/** Bounds the size of a statement, because a document may be as large as a request body. */
const BATCH = 200;

const PUBLISHED = 'EXISTS (SELECT FROM document_publications p WHERE p.document_id = d.id)';

/** Rows are locked in the order of the ids, so that two publishers of equal documents never wait in a cycle. */
const PUT = statement<{ id: string }>(
  'documents_put',
  `INSERT INTO trusted_documents AS d (id, text, digest, operation_name, schema)
   SELECT g.id, g.text, g.digest, g."operationName", $2::bytea
   FROM jsonb_to_recordset($1::jsonb) AS g (id text, text text, digest bytea, "operationName" text)
   ORDER BY g.id COLLATE "C"
   ON CONFLICT (id) DO UPDATE SET schema = excluded.schema WHERE d.text = excluded.text
   RETURNING d.id`,
);
const PUBLISH = statement<{ one: number }>(
  'documents_publish',
  `INSERT INTO document_publications (document_id, client, release) SELECT g.id, $2, $3 FROM unnest($1::text[]) AS g (id)
   ORDER BY g.id COLLATE "C" ON CONFLICT DO NOTHING RETURNING 1 AS one`,
);

const byId = ({ id: a }: NewDocument, { id: b }: NewDocument): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * `taken` has the ids that already belong to another document and are left unchanged. `published` counts the documents
 * that the release did not have before.
 * @throws {DatabaseError}
 */
export async function publishDocuments(
  work: UnitOfWork,
  documents: readonly NewDocument[],
  { client, release }: Release,
  schemaId: string,
): Promise<{ published: number; taken: string[] }> {
  const sorted = [...documents].sort(byId);
  const taken: string[] = [];
  let published = 0;
  for (let at = 0; at < sorted.length; at += BATCH) {
    const batch = sorted.slice(at, at + BATCH);
    const rows = await work.query(PUT, [JSON.stringify(batch), schemaId]);
    const put = new Set(rows.map(({ id }) => id));
    taken.push(...batch.map(({ id }) => id).filter((id) => !put.has(id)));
    published += (await work.query(PUBLISH, [[...put], client, release])).length;
  }
  return { published, taken };
}

const RETIRE_RELEASE = statement<{ id: string }>(
  'documents_retire_release',
  'DELETE FROM document_publications WHERE client = $1 AND release = $2 RETURNING document_id AS id',
);
const RETIRE = statement<{ id: string }>(
  'documents_retire',
  'DELETE FROM document_publications WHERE document_id = ANY($1::text[]) RETURNING document_id AS id',
);
const LEFT = statement<{ id: string }>(
  'documents_left',
  `SELECT DISTINCT p.document_id AS id FROM document_publications p WHERE p.document_id = ANY($1::text[])`,
);
/** Only one transaction at a time may retire documents, because each counts the publications that remain. */
const RETIRE_LOCK = statement<never>(
  'documents_retire_lock',
  `SELECT pg_advisory_xact_lock(hashtext('documents_retire'))`,
);
/** PostgreSQL delivers the notification once the transaction commits. */
const TELL = statement<never>('documents_tell', 'SELECT pg_notify($1, $2)');

/**
 * `ended` has the ids of removed publications, and `retired` counts the ids that are unpublished from now on.
 * @throws {DatabaseError}
 */
export async function retireDocuments(
  work: UnitOfWork,
  what: Release | readonly string[],
  channel: string,
): Promise<{ ended: string[]; retired: number }> {
  await work.query(RETIRE_LOCK, []);
  const rows =
    'client' in what
      ? await work.query(RETIRE_RELEASE, [what.client, what.release])
      : await work.query(RETIRE, [what]);
  const ended = [...new Set(rows.map(({ id }) => id))];
  const left = await work.query(LEFT, [ended]);
  if (ended.length > 0) await work.query(TELL, [channel, '']);
  return { ended, retired: ended.length - left.length };
}

export interface StoredDocument {
  readonly key: string;
  readonly text: string;
  /** Identifies the schema with which the document was checked. */
  readonly schema: string;
}

export const FIND_DOCUMENTS = statement<StoredDocument>(
  'documents_by_id',
  `SELECT d.id AS key, d.text, d.schema::text AS schema FROM trusted_documents d WHERE d.id = ANY($1::text[]) AND ${PUBLISHED}`,
);
export const CHECK_DOCUMENTS = statement<{ key: string }>(
  'documents_check',
  `SELECT DISTINCT p.document_id AS key FROM document_publications p WHERE p.document_id = ANY($1::text[])`,
);
/** True if a document was ever published, even if it was retired. */
export const HAS_DOCUMENTS = statement<{ found: boolean }>(
  'documents_exist',
  'SELECT EXISTS (SELECT FROM trusted_documents) AS found',
);
export const CHECK_DIGESTS = statement<{ key: string }>(
  'documents_check_digests',
  `SELECT DISTINCT d.digest::text AS key FROM trusted_documents d WHERE d.digest = ANY($1::bytea[]) AND ${PUBLISHED}`,
);

/** The owner of a document, for reports on documents that no longer fit a schema. */
export interface TextOfRelease {
  readonly id: string;
  readonly text: string;
  readonly client: string;
  readonly release: string | null;
}

const TEXTS = statement<TextOfRelease>(
  'documents_texts',
  `SELECT d.id, d.text, p.client, nullif(p.release, '') AS release
   FROM document_publications p JOIN trusted_documents d ON d.id = p.document_id
   WHERE (d.id, p.client, p.release) > ($1, $2, $3) ORDER BY d.id, p.client, p.release LIMIT ${BATCH}`,
);

/**
 * Reads all publications in batches.
 * @throws {DatabaseError}
 */
export async function* publishedTexts(db: Queryable): AsyncGenerator<TextOfRelease> {
  let last: readonly [string, string, string] = ['', '', ''];
  for (;;) {
    const rows = await db.query(TEXTS, last);
    yield* rows;
    const end = rows.at(-1);
    if (end === undefined || rows.length < BATCH) return;
    last = [end.id, end.client, end.release ?? ''];
  }
}

/** The maximum number of rows retained per client, and in total. */
const MAX_ROWS_OF_CLIENT = 100;
const MAX_ROWS = 10_000;
/** Stands for further documents of a client that are not counted separately. */
export const NO_DIGEST = '\\x';

const isPublished = (digest: string): string =>
  `EXISTS (SELECT FROM trusted_documents d JOIN document_publications p ON p.document_id = d.id WHERE d.digest = ${digest})`;

const STORE = statement<{ client: string; count: number }>(
  'text_uses_store',
  `WITH given AS (
     SELECT g.*, NOT ${isPublished('g.digest')} AS unpublished
     FROM jsonb_to_recordset($1::jsonb) AS g (client text, kind text, digest bytea, names text, count float8)
   ), placed AS (
     SELECT g.client, g.kind, g.names, g.count, CASE WHEN k.client IS NOT NULL
       OR row_number() OVER (PARTITION BY g.client, k.client IS NULL ORDER BY g.count DESC)
         + (SELECT count(*) FROM text_uses c WHERE c.client = g.client AND ($2 OR NOT ${isPublished('c.digest')}))
         <= ${MAX_ROWS_OF_CLIENT}
       AND row_number() OVER (PARTITION BY k.client IS NULL ORDER BY g.count DESC)
         + (SELECT count(*) FROM text_uses) <= ${MAX_ROWS}
       THEN g.digest ELSE ''::bytea END AS digest
     FROM given g LEFT JOIN text_uses k ON k.client = g.client AND k.digest = g.digest
     WHERE g.unpublished OR $2
   ), stored AS (
     INSERT INTO text_uses AS u (client, kind, digest, operation_name, count)
     SELECT client, min(kind), digest, CASE WHEN digest <> '' THEN min(names) END, sum(count)
     FROM placed GROUP BY client, digest ORDER BY client, digest
     ON CONFLICT (client, digest) DO UPDATE SET count = u.count + excluded.count, last_used_at = now()
   )
   SELECT client, sum(count) AS count FROM given WHERE unpublished AND digest <> '' GROUP BY client`,
);

export interface CountedText {
  readonly client: string;
  readonly kind: string;
  readonly digest: string;
  readonly names: string | undefined;
  readonly count: number;
}

/**
 * Each client and digest has one text. Counts published documents, too, if `all` is true.
 * @returns for each client the number of uses of unpublished documents
 * @throws {DatabaseError}
 */
export const storeUnpublishedUsage = (
  db: Queryable,
  texts: readonly CountedText[],
  all: boolean,
): Promise<{ client: string; count: number }[]> => db.query(STORE, [JSON.stringify(texts), all]);

/**
 * Deletes documents that were not sent for 30 days. Rare documents of a client with many rows are deleted after one
 * day.
 */
export const oldUnpublishedUsage = deletion('text_uses', {
  table: 'text_uses',
  key: 'client, digest',
  condition: `last_used_at <= now() - interval '30 days' OR count <= 2 AND last_used_at <= now() - interval '1 day'
    AND (SELECT count(*) FROM text_uses c WHERE c.client = text_uses.client) > ${MAX_ROWS_OF_CLIENT / 2}`,
});

export interface UnpublishedUsageRow {
  /** The id of an API key or OAuth client, or the kind of credentials. */
  readonly client: string;
  readonly clientName: string | null;
  readonly kind: string;
  readonly operationName: string | null;
  /** SHA-256 of the query string without ignored tokens. Null for documents that are not counted separately. */
  readonly digest: string | null;
  /** The first policy that would reject the document; null without a digest. */
  readonly rejectedBy: 'listed' | 'required' | null;
  readonly count: number;
  readonly firstUsedAt: Date;
  readonly lastUsedAt: Date;
}

const list = (clientNames: readonly string[]) =>
  statement<UnpublishedUsageRow>(
    'text_uses_list',
    `SELECT u.client, n.name AS "clientName", u.kind, u.operation_name AS "operationName",
       nullif(encode(u.digest, 'hex'), '') AS digest,
       CASE WHEN p.published THEN 'required' WHEN u.digest <> '' THEN 'listed' END AS "rejectedBy",
       u.count::float8 AS count, u.first_used_at AS "firstUsedAt", u.last_used_at AS "lastUsedAt"
     FROM text_uses u LEFT JOIN (${clientNames.join(' UNION ALL ')}) n ON n.id = u.client
     CROSS JOIN LATERAL (SELECT ${isPublished('u.digest')} AS published) p
     WHERE $1 OR NOT p.published ORDER BY u.last_used_at DESC, u.client, u.digest`,
  );

/**
 * Lists documents that the policy after `policy` would reject, by last use. Instances store their counts every 10 s.
 * @throws {DatabaseError}
 */
export const listUnpublishedUsage = (
  db: Queryable,
  policy: DocumentPolicy,
  clientNames: readonly string[],
): Promise<UnpublishedUsageRow[]> =>
  db.query(list(clientNames), [policy === 'listed' || policy === 'required']);
