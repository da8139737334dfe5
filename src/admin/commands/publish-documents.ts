import { hash } from 'node:crypto';
import { audit, OPERATOR } from '../../auth/audit.ts';
import { isPublishableId } from '../../engine/documents/trusted/catalog.ts';
import {
  type NewDocument,
  publishDocuments,
  type Release,
} from '../../engine/documents/trusted/document-store.ts';
import { createDocumentCheck, type DocumentCheck } from '../../engine/documents/trusted/publish-check.ts';
import { contentLimits } from '../../schema/content-limits.ts';
import type { Opened } from '../cli/connection.ts';
import { UndoneError } from '../cli/output.ts';
import type { ManifestEntry } from './manifest.ts';

/** An id with a prefix claims to be the hash of its document. */
const OF_TEXT = /^sha256:[0-9a-f]{64}$/i;
const TAKEN = 'The id belongs to another document, and the document of an id never changes.';

function idProblem({ id, text }: ManifestEntry): string | undefined {
  if (!isPublishableId(id)) return 'An id must have 1 to 128 printable ASCII characters.';
  if (OF_TEXT.test(id) && id.toLowerCase() !== `sha256:${hash('sha256', text, 'hex')}`)
    return 'The id is not the SHA-256 of the document.';
  return undefined;
}

function checkAll(entries: readonly ManifestEntry[], { check }: DocumentCheck) {
  const texts = new Map<string, string>();
  const documents: NewDocument[] = [];
  const rejected = new Map<string, string>();
  for (const entry of entries) {
    const { id, text } = entry;
    const known = texts.get(id);
    texts.set(id, known ?? text);
    if (known === text) continue;
    const problem =
      known === undefined ? idProblem(entry) : 'The files have different documents with this id.';
    const checked = problem === undefined ? check(text) : { reason: problem };
    if ('reason' in checked) rejected.set(id, checked.reason);
    else
      documents.push({
        id,
        text,
        digest: checked.document.digest,
        operationName: checked.document.names ?? null,
      });
  }
  return { documents: documents.filter(({ id }) => !rejected.has(id)), rejected };
}

/**
 * Validates documents like requests. With `partial`, rejected documents do not prevent the publication of the
 * others.
 * @throws {UndoneError} if a document is rejected without `partial`.
 * @throws {AdminError}
 * @throws {DatabaseError}
 */
export async function publish(
  { database, config }: Opened,
  entries: readonly ManifestEntry[],
  { partial, ...release }: Release & { readonly partial: boolean },
) {
  // Only this command needs the whole schema.
  const { buildSchema } = await import('../../schema/schema.ts');
  const checks = createDocumentCheck(buildSchema(contentLimits(config)), config);
  const { documents, rejected } = checkAll(entries, checks);
  const total = documents.length + rejected.size;
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const { published, taken } = await publishDocuments(work, documents, release, checks.schemaId);
    for (const id of taken) rejected.set(id, TAKEN);
    const told = [...rejected].map(([id, reason]) => ({ id, reason }));
    if (partial || told.length === 0) {
      await audit(work, 'document.publish', release.client, { ...release, published });
      return { published, unchanged: documents.length - taken.length - published, rejected: told };
    }
    // The error rolls the transaction back.
    throw new UndoneError(
      `Rejected: ${told.length} of ${total} documents. Nothing was published. Correct the documents, or publish the others with --partial.`,
      {
        published: 0,
        unchanged: 0,
        rejected: told,
      },
    );
  });
}
