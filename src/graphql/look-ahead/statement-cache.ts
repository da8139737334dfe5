import { LRUCache } from 'lru-cache';
import { type Statement, statement } from '../../platform/db/statement.ts';

/** The result of look-ahead: one JSON text. `data` null with a `size` means that the text is too large. */
export interface JsonRow {
  readonly data: string | null;
  /** The size of the text, or its minimum size if it was not built; undefined if it cannot be too large. */
  readonly size?: number;
}

export type JsonStatement = Statement<JsonRow>;

/** A selection can have a 100 KB statement for each shape of its pages, so their total length is limited. */
const MAX_CHARACTERS = 16_000_000;

const statements = new LRUCache<string, JsonStatement>({
  maxSize: MAX_CHARACTERS,
  sizeCalculation: ({ text }, key) => text.length + key.length,
});

let plans = 0;

/** A plan id, the key of its cached statements. Statements of discarded plans are evicted over time. */
export function nextPlanId(): number {
  plans += 1;
  return plans;
}

/** The statement of a plan for a shape of its pages, built if it is not cached. */
export function cachedStatement(
  planId: number,
  shape: string,
  label: () => string,
  build: () => string,
): JsonStatement {
  const key = `${planId}${shape}`;
  let found = statements.get(key);
  if (found === undefined) {
    found = statement(label(), build());
    statements.set(key, found);
  }
  return found;
}
