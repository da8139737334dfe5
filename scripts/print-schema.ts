/** Writes the published schema in SDL, sorted and with descriptions (contract section 7). */
import { writeFileSync } from 'node:fs';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { buildSchema } from '../src/schema.ts';

export const SCHEMA_FILE = new URL('../schema.graphql', import.meta.url);

/** The content of `schema.graphql`. Sorted, so that moving code does not change it. */
export function printedSchema(): string {
  return `${printSchema(lexicographicSortSchema(buildSchema()))}\n`;
}

if (import.meta.main) writeFileSync(SCHEMA_FILE, printedSchema());
