import { hash } from 'node:crypto';
import { z } from 'zod';
import { NotTextError, readText } from '../../platform/config/setting-files.ts';
import { AdminError } from '../cli/output.ts';

export interface ManifestEntry {
  readonly id: string;
  readonly text: string;
}

const APOLLO = z.object({
  format: z.literal('apollo-persisted-query-manifest'),
  version: z.number(),
  operations: z.unknown(),
});
const BODY = z.object({ body: z.string() });
const OPERATIONS = z.array(BODY.extend({ id: z.string() }));

/**
 * Format of codegen's client preset, gql.tada, Relay, Mercurius and Hive.
 * @returns undefined for any other value.
 */
function parseTexts(json: unknown): readonly ManifestEntry[] | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  const members: [string, unknown][] = Object.entries(json);
  const entries = members.flatMap(([id, text]) => (typeof text === 'string' ? { id, text } : []));
  return entries.length === members.length ? entries : undefined;
}

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

/** @returns undefined unless `operations` is a list, or an object by id. */
function parseOperations(operations: unknown): readonly ManifestEntry[] | undefined {
  const listed = OPERATIONS.safeParse(operations).data;
  if (listed !== undefined) return listed.map(({ id, body }) => ({ id, text: body }));
  if (typeof operations !== 'object' || operations === null || Array.isArray(operations)) return undefined;
  const members: [string, unknown][] = Object.entries(operations);
  const entries = members.flatMap(([id, operation]) => {
    const { data } = BODY.safeParse(operation);
    return data === undefined ? [] : { id, text: data.body };
  });
  return entries.length === members.length ? entries : undefined;
}

/**
 * @returns undefined unless the file is an Apollo manifest.
 * @throws {AdminError}
 */
function parseApollo(file: string, json: unknown): readonly ManifestEntry[] | undefined {
  const manifest = APOLLO.safeParse(json).data;
  if (manifest === undefined) return undefined;
  const { version, operations } = manifest;
  if (version !== 1)
    throw new AdminError(
      `${file} is an Apollo manifest of version ${version}, but only version 1 is supported. Nothing was published.`,
    );
  return parseOperations(operations);
}

/**
 * The id of a .graphql file is its SHA-256 in hexadecimal.
 * @throws {AdminError}
 */
export function readManifest(file: string): readonly ManifestEntry[] {
  const content = read(file);
  if (/\.(?:graphql|gql)$/.test(file)) return [{ id: hash('sha256', content, 'hex'), text: content }];
  const json = parse(file, content);
  const entries = parseApollo(file, json) ?? parseTexts(json);
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
