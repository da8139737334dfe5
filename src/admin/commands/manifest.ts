import { hash } from 'node:crypto';
import { z } from 'zod';
import { NotTextError, readText } from '../../platform/config/setting-files.ts';
import { AdminError } from '../cli/output.ts';

export interface ManifestEntry {
  readonly id: string;
  readonly text: string;
}

/** A record of Zod would lack the id `__proto__`. */
const toMembers = (json: unknown) =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? Object.entries(json) : undefined;
const byId = (text: z.ZodType<string>) =>
  z
    .preprocess(toMembers, z.array(z.tuple([z.string(), text])))
    .transform((members): ManifestEntry[] => members.map(([id, text]) => ({ id, text })));

/** Format of codegen's client preset, gql.tada, Relay, Mercurius and Hive. */
const TEXTS = byId(z.string());

const APOLLO = z.object({
  format: z.literal('apollo-persisted-query-manifest'),
  version: z.number(),
  operations: z.unknown(),
});
const OPERATIONS = z.union([
  z.array(z.object({ id: z.string(), body: z.string() }).transform(({ id, body }) => ({ id, text: body }))),
  byId(z.object({ body: z.string() }).transform(({ body }) => body)),
]);

const FORMS =
  'Specify an object from ids to query strings, a manifest of Apollo, or a .graphql file (docs/guides/trusted-documents.md).';

function read(file: string): string {
  try {
    return readText(file);
  } catch (error) {
    if (error instanceof NotTextError)
      throw new AdminError(`${file} ${error.message}. Nothing was published.`);
    throw new AdminError(
      `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}. Nothing was published.`,
    );
  }
}

function parse(file: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    throw new AdminError(`${file} is neither JSON nor a .graphql file. Nothing was published. ${FORMS}`);
  }
}

/** A query string has a selection set, and an id has none. */
const isId = ({ text }: ManifestEntry): boolean => text.trim() !== '' && !text.includes('{');

/**
 * @returns undefined if the format is unknown.
 * @throws {AdminError}
 */
function parseEntries(file: string, json: unknown): readonly ManifestEntry[] | undefined {
  const manifest = APOLLO.safeParse(json).data;
  if (manifest === undefined) return TEXTS.safeParse(json).data;
  const { version, operations } = manifest;
  if (version !== 1)
    throw new AdminError(
      `${file} is an Apollo manifest of version ${version}, but only version 1 is supported. Nothing was published.`,
    );
  return OPERATIONS.safeParse(operations).data;
}

/**
 * The id of a .graphql file is its SHA-256 in hexadecimal.
 * @throws {AdminError}
 */
export function readManifest(file: string): readonly ManifestEntry[] {
  const content = read(file);
  if (/\.(?:graphql|gql)$/.test(file)) return [{ id: hash('sha256', content, 'hex'), text: content }];
  const entries = parseEntries(file, parse(file, content));
  if (entries === undefined)
    throw new AdminError(`${file} has an unknown format. Nothing was published. ${FORMS}`);
  if (entries.length === 0)
    throw new AdminError(
      `${file} is empty: the client would have no published documents. Nothing was published.`,
    );
  if (entries.every(isId))
    throw new AdminError(
      `${file} maps names to ids and has no query strings. Nothing was published. Specify the file of the same tool that maps ids to query strings.`,
    );
  return entries;
}
