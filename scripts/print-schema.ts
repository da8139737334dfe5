/** Writes the published schema in SDL, sorted and with descriptions (contract: schema). */
import { writeFileSync } from 'node:fs';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { readArguments } from '../src/platform/process.ts';
import { buildSchema } from '../src/schema/schema.ts';
import { printedWithoutDeprecated } from './released/without-deprecated.ts';

export const SCHEMA_FILE = new URL('../schema.graphql', import.meta.url);
/** For clients that check their operations: it has nothing that is to go. */
export const WITHOUT_DEPRECATED_FILE = new URL('../schema.without-deprecated.graphql', import.meta.url);
/** That of the last release. */
export const RELEASED_SCHEMA_FILE = new URL('../schema.released.graphql', import.meta.url);

/** The content of `schema.graphql`. Sorted, so that moving code does not change it. */
export function printedSchema(): string {
  return `${printSchema(lexicographicSortSchema(buildSchema()))}\n`;
}

if (import.meta.main) {
  readArguments('npm run schema:print\n\nWrites schema.graphql and schema.without-deprecated.graphql.\n', {});
  const printed = printedSchema();
  writeFileSync(SCHEMA_FILE, printed);
  writeFileSync(WITHOUT_DEPRECATED_FILE, printedWithoutDeprecated(printed));
}
