/** Writes the published contract: the schema in SDL, sorted, with its descriptions (contract section 7). */
import { writeFileSync } from 'node:fs';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { buildSchema } from '../src/schema.ts';

export const SCHEMA_FILE = new URL('../schema.graphql', import.meta.url);

/** The schema as `schema.graphql` holds it. Sorted, so that moving code changes nothing. */
export function printedSchema(): string {
  return `${printSchema(lexicographicSortSchema(buildSchema()))}\n`;
}

if (import.meta.main) writeFileSync(SCHEMA_FILE, printedSchema());
