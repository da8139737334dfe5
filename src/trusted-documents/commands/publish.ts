import { hash } from 'node:crypto';
import type { Opened } from '../../admin/connection.ts';
import { UndoneError } from '../../admin/output.ts';
import { rulesOf } from '../../modules/rules.ts';
import { isPublishableId } from '../catalog.ts';
import { createDocumentCheck, type DocumentCheck } from '../check.ts';
import { type NewDocument, publishDocuments, type Release } from '../store.ts';
import { type ManifestEntry, readManifest } from './manifest.ts';

interface Refused {
  readonly id: string;
  readonly reason: string;
}

/** What is printed. The first two are numbers of documents. */
export interface Published {
  readonly published: number;
  readonly unchanged: number;
  readonly refused: readonly Refused[];
}

/** An id may tell what it is the hash of. */
const OF_TEXT = /^sha256:[0-9a-f]{64}$/i;
const TAKEN = 'This id is that of another text, and an id never gets another one.';

function idProblem({ id, text }: ManifestEntry): string | undefined {
  if (!isPublishableId(id)) return 'An id has 1 to 128 printable ASCII characters.';
  if (OF_TEXT.test(id) && id.toLowerCase() !== `sha256:${hash('sha256', text, 'hex')}`)
    return 'The id is not the SHA-256 of the text.';
  return undefined;
}

/** Sorts what may be published from what may not. */
function checkAll(entries: readonly ManifestEntry[], { check }: DocumentCheck) {
  const texts = new Map<string, string>();
  const documents: NewDocument[] = [];
  const refused = new Map<string, string>();
  for (const entry of entries) {
    const { id, text } = entry;
    const known = texts.get(id);
    texts.set(id, known ?? text);
    if (known === text) continue;
    const problem = known === undefined ? idProblem(entry) : 'The files have several texts for this id.';
    const checked = problem === undefined ? check(text) : { reason: problem };
    if ('reason' in checked) refused.set(id, checked.reason);
    else
      documents.push({
        id,
        text,
        digest: checked.document.digest,
        operationName: checked.document.names ?? null,
      });
  }
  return { documents: documents.filter(({ id }) => !refused.has(id)), refused };
}

/** Thrown to take everything back. */
class TakenIds extends Error {
  readonly ids: readonly string[];
  constructor(ids: readonly string[]) {
    super(TAKEN);
    this.ids = ids;
  }
}

/**
 * Checks the documents of files as requests would be, and publishes them in one transaction: all of them, or with `partial`
 * those that are not refused. Throws UndoneError if any is refused otherwise, and AdminError, DatabaseError.
 */
export async function publish(
  { database, config }: Opened,
  files: readonly string[],
  { partial, ...release }: Release & { readonly partial: boolean },
): Promise<Published> {
  // Only this command needs the whole schema.
  const { buildSchema } = await import('../../schema.ts');
  const checks = createDocumentCheck(buildSchema(rulesOf(config)), config);
  const { documents, refused } = checkAll(files.flatMap(readManifest), checks);
  let published = 0;
  const refuse = (ids: readonly string[]) => {
    for (const id of ids) refused.set(id, TAKEN);
  };
  if (partial || refused.size === 0)
    try {
      published = await database.unitOfWork().run(async (work) => {
        const done = await publishDocuments(work, documents, release, checks.schemaId);
        if (done.taken.length > 0 && !partial) throw new TakenIds(done.taken);
        refuse(done.taken);
        return done.published;
      });
    } catch (error) {
      if (!(error instanceof TakenIds)) throw error;
      refuse(error.ids);
    }
  const whole = partial || refused.size === 0;
  const kept = documents.filter(({ id }) => !refused.has(id)).length;
  const result = {
    published,
    unchanged: whole ? kept - published : 0,
    refused: [...refused].map(([id, reason]) => ({ id, reason })),
  };
  if (whole) return result;
  throw new UndoneError(
    `Refused: ${refused.size} of ${documents.length + refused.size} documents. Nothing was published.`,
    result,
  );
}
