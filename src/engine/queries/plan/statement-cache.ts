import { LRUCache } from 'lru-cache';
import type { CredentialCheckResult } from '../../../auth/authenticate.ts';
import { type Statement, statement } from '../../../database/statement.ts';
import { Doorkeeper } from '../../../platform/cache.ts';
import { type WrittenStatement, writeStatement } from '../page-statement.ts';
import { type Given, type PlanArguments, type PlanSql, planSql } from './arguments.ts';

/** `data` is null with a `size` if the JSON is too large. */
export interface JsonRow {
  readonly data: string | null;
  /** The size of the JSON, or its minimum size if it was not built. Undefined if the JSON cannot be too large. */
  readonly size?: number;
  readonly caller?: CredentialCheckResult;
  /** Set if the statement reads `SNAPSHOT_NAME`. */
  readonly snapshot?: string | null;
}

export type JsonStatement = WrittenStatement<JsonRow, Given>;

/** A selection can have a 100 KB statement for each shape of its pages, so the total length is limited. */
const MAX_CHARACTERS_OF_PLANS = 12_000_000;
const MAX_CHARACTERS_OF_TEXTS = 4_000_000;

const ofPlans = new LRUCache<string, JsonStatement>({
  maxSize: MAX_CHARACTERS_OF_PLANS,
  sizeCalculation: ({ statement: { text } }, key) => text.length + key.length,
});
/** The key is the SQL, which is equal for documents that differ in white space, comments or operation names. */
const ofTexts = new LRUCache<string, Statement<JsonRow>>({
  maxSize: MAX_CHARACTERS_OF_TEXTS,
  sizeCalculation: ({ text }) => text.length,
});

/** Statements that are used once are not cached. */
const seen = new Doorkeeper();

let plans = 0;

/** The id is the key of cached statements. Statements of discarded plans are evicted over time. */
export function nextPlanId(): number {
  plans += 1;
  return plans;
}

/** The name of a statement is a digest, so a cached statement saves the hashing. */
function statementOf(label: () => string, text: string): Statement<JsonRow> {
  let found = ofTexts.get(text);
  if (found === undefined) {
    found = statement(label(), text);
    if (seen.see(found.name)) ofTexts.set(text, found);
  }
  return found;
}

export function cachedStatement(
  planId: number,
  given: PlanArguments,
  shape: string,
  label: () => string,
  write: (sql: PlanSql) => string,
): JsonStatement {
  const key = `${planId}${shape}`;
  let found = ofPlans.get(key);
  if (found === undefined) {
    found = writeStatement<JsonRow, Given>(
      (add) => write(planSql(given, add)),
      (text) => statementOf(label, text),
    );
    if (seen.see(key)) ofPlans.set(key, found);
  }
  return found;
}
