import { createHash, hash } from 'node:crypto';
import { type GraphQLSchema, printSchema, stripIgnoredCharacters } from 'graphql';

/**
 * SHA-256 of a text that parses, without the white space, commas and comments that GraphQL ignores (section 2.1.6): clients
 * print a document in their own ways. As PostgreSQL writes bytes.
 */
export const digestOf = (text: string): string => `\\x${hash('sha256', stripIgnoredCharacters(text), 'hex')}`;

/** Identifies what documents are checked with: the schema, and whether they may introspect it. As a digest is written. */
export function schemaIdOf(schema: GraphQLSchema, introspection: boolean): string {
  const content = createHash('sha256').update(printSchema(schema)).update(String(introspection));
  return `\\x${content.digest('hex')}`;
}
