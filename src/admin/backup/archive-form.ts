import type { Hash } from 'node:crypto';
import { z } from 'zod';
import { AdminError } from '../output.ts';

/**
 * A backup is a tar file compressed with Zstandard. Its last entry, the manifest, lists all other files with their sizes
 * and sums: an archive without it was cut off.
 */
export const MANIFEST = 'content-graph-backup.json';
export const FORMAT = 1;

const fileForm = z.object({ size: z.number(), sha256: z.string() });
/** What the manifest of any version says first. */
const anyForm = z.object({ format: z.number() });
const manifestForm = z.object({
  format: z.literal(FORMAT),
  createdAt: z.string(),
  /** The major version of PostgreSQL. */
  postgresMajor: z.string(),
  /** By name. The sum is SHA-256 in hexadecimal. */
  files: z.record(z.string(), fileForm),
});

export type Manifest = Readonly<z.infer<typeof manifestForm>>;
export type ManifestFile = Readonly<z.infer<typeof fileForm>>;

export type Parts = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The parts as they pass, for the sum of all. */
export async function* hashed(
  content: Parts,
  hash: Hash,
  count?: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const part of content) {
    hash.update(part);
    count?.(part.length);
    yield part;
  }
}

export const damaged = (path: string, why: string) =>
  new AdminError(`"${path}" is not a whole backup: ${why}. Nothing was restored from it: use another one.`);

/** Throws AdminError if it is none, or of another format. */
export function parseManifest(path: string, text: string): Manifest {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw damaged(path, 'its list of files is not JSON');
  }
  const format = anyForm.safeParse(json).data?.format;
  if (format !== undefined && format !== FORMAT)
    throw new AdminError(
      `"${path}" has format ${format}, and this version of the service reads format ${FORMAT}: restore it with the version that has written it.`,
    );
  const { data } = manifestForm.safeParse(json);
  if (data === undefined) throw damaged(path, 'its list of files has another form');
  return data;
}
