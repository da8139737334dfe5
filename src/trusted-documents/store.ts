import { type Queryable, statement } from '../platform/db/statement.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';

/** A document that a release publishes, checked. */
export interface NewDocument {
  readonly id: string;
  readonly text: string;
  readonly digest: string;
  readonly operationName: string | null;
}

/** A release of a client; of the empty name if it has none. */
export interface Release {
  readonly client: string;
  readonly release: string;
}

/** Bounds what a statement carries: a text has up to a body's length. */
const BATCH = 200;

const PUBLISHED = 'EXISTS (SELECT FROM document_publications p WHERE p.document_id = d.id)';

/** In the order of the ids: two that publish the same ones wait for each other, and never in a circle. */
const PUT = statement<{ id: string }>(
  'documents_put',
  `INSERT INTO trusted_documents AS d (id, text, digest, operation_name, schema)
   SELECT g.id, g.text, g.digest, g.operation_name, $5::bytea
   FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[]) AS g (id, text, digest, operation_name)
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
 * Publishes documents for a release. Ids that have another text already are left alone, and returned. `published` is how
 * many the release did not have before. Throws DatabaseError.
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
    const rows = await work.query(PUT, [
      batch.map(({ id }) => id),
      batch.map(({ text }) => text),
      batch.map(({ digest }) => digest),
      batch.map(({ operationName }) => operationName),
      schemaId,
    ]);
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
/** One at a time: each counts what no other leaves. */
const RETIRE_LOCK = statement<never>(
  'documents_retire_lock',
  `SELECT pg_advisory_xact_lock(hashtext('documents_retire'))`,
);
/** Heard once the transaction has committed. */
const TELL = statement<never>('documents_tell', 'SELECT pg_notify($1, $2)');

/**
 * Ends the publications of a release, or all those of some ids. Returns the ids that had one, and how many of them have
 * none left: these are unknown from now on. Throws DatabaseError.
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
  /** Its id. */
  readonly key: string;
  readonly text: string;
  /** Identifies the schema that it was checked with. */
  readonly schema: string;
}

/** Published documents by their ids. */
export const FIND_DOCUMENTS = statement<StoredDocument>(
  'documents_by_id',
  `SELECT d.id AS key, d.text, d.schema::text AS schema FROM trusted_documents d WHERE d.id = ANY($1::text[]) AND ${PUBLISHED}`,
);
/** Which ids are those of published documents. */
export const CHECK_DOCUMENTS = statement<{ key: string }>(
  'documents_check',
  `SELECT DISTINCT p.document_id AS key FROM document_publications p WHERE p.document_id = ANY($1::text[])`,
);
/** True once a document was published, also after it was retired. */
export const HAS_DOCUMENTS = statement<{ found: boolean }>(
  'documents_exist',
  'SELECT EXISTS (SELECT FROM trusted_documents) AS found',
);
/** Which digests are those of published documents. */
export const CHECK_DIGESTS = statement<{ key: string }>(
  'documents_check_digests',
  `SELECT DISTINCT d.digest::text AS key FROM trusted_documents d WHERE d.digest = ANY($1::bytea[]) AND ${PUBLISHED}`,
);

/** Whose text it is, for what no longer fits a schema. */
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

/** All that is published, a part at a time. Throws DatabaseError. */
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
