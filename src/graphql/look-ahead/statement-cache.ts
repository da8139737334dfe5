import { LRUCache } from 'lru-cache';
import { type Statement, statement } from '../../platform/db/statement.ts';

/** What look-ahead reads: one JSON text. A `data` of null with a size means that it is too large. */
export interface JsonRow {
  readonly data: string | null;
  /** How large it is, or at least is where it is too large to be given; undefined where it surely is not. */
  readonly size?: number;
}

export type JsonStatement = Statement<JsonRow>;

/** One selection can make a text of 100 KB for each shape of its pages: what counts is how much they are together. */
const MAX_CHARACTERS = 16_000_000;

const statements = new LRUCache<string, JsonStatement>({
  maxSize: MAX_CHARACTERS,
  sizeCalculation: ({ text }, key) => text.length + key.length,
});

let plans = 0;

/** Numbers a plan, under which its statements are kept. What is left of a plan that is gone falls out by and by. */
export function nextPlanId(): number {
  plans += 1;
  return plans;
}

/** The statement of a plan for a shape of its pages, made with `build` where it is not kept. */
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
