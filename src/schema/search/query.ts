import { checkText } from '../../engine/core/input.ts';
import type { PageFilter } from '../../engine/queries/pagination.ts';
import { badInput } from '../../platform/errors.ts';
import type { ContentLimits } from '../content-limits.ts';
import { ANY, authorLabel, lexeme, parseWords, tagLabel } from './words.ts';

type SearchLimits = ContentLimits['search'];

/** The parameters of the statement that reads the search index. */
export interface SearchTerms {
  /** A tsquery that needs the index only. Null if nothing can match. */
  readonly words: string | null;
  /** A tsquery of phrases, which is checked for each entry that matches `words`. */
  readonly phrases: string | null;
  /** The maximum number of buckets to search. */
  readonly buckets: number;
}

/** With 4,096 posts in a bucket, these are a million posts. */
const BUCKETS = 256;
/** Words with a prefix cost more to find. */
const BUCKETS_WITH_PREFIX = 64;

/** Shorter prefixes of ASCII letters find too many words. */
export const MIN_PREFIX = 3;

/** Words, and phrases in quotes, either with a minus sign that excludes them. */
const PARTS = /(-?)(?:"([^"]*)"?|([^\s"]+))/gu;
const ONLY_ASCII = /^[\0-\x7f]+$/;

interface Part {
  /** The operands of a tsquery, in order. */
  readonly operands: readonly string[];
  /** The operands that the index looks up. The first and the last pair of a run stand for its other pairs. */
  readonly probes: readonly string[];
  readonly hasPrefix: boolean;
}

function parsePart(text: string, endsWithStar: boolean): Part {
  const runs = parseWords(text);
  const operands: string[] = [];
  const probes: string[] = [];
  let hasPrefix = false;
  for (const [index, { words, isDense, isSingle, end }] of runs.entries()) {
    for (const [at, word] of words.entries()) {
      const isLast = at === words.length - 1;
      const isLong = !ONLY_ASCII.test(word) || word.length >= MIN_PREFIX;
      const isPrefix = isSingle || (endsWithStar && index === runs.length - 1 && isLast && isLong);
      const operand = isPrefix ? `${lexeme(word)}:*` : lexeme(word);
      hasPrefix ||= isPrefix;
      operands.push(operand);
      if (!isDense || at === 0 || isLast) probes.push(operand);
    }
    if (end !== undefined && index < runs.length - 1) operands.push(`${lexeme(end)}:*`);
  }
  return { operands, probes, hasPrefix };
}

/**
 * Parses words, `"phrases"`, `-excluded` and `prefix*`. Any other characters separate words. A string without words matches
 * nothing.
 * @throws {ApiError} BAD_USER_INPUT if the query has too many characters or words
 */
export function parseQuery(
  query: string,
  { equal, values = [] }: Pick<PageFilter, 'equal' | 'values'>,
  limits: SearchLimits,
): SearchTerms {
  checkText('query', query, limits.query);
  const words: string[] = [];
  const phrases: string[] = [];
  let count = 0;
  let isPositive = false;
  let hasPrefix = false;
  for (const [, minus, quoted, bare = ''] of query.matchAll(PARTS)) {
    const part = parsePart(quoted ?? bare, bare.endsWith('*'));
    const { operands, probes } = part;
    if (probes.length === 0) continue;
    count += probes.length;
    hasPrefix ||= part.hasPrefix;
    const isPhrase = operands.length > 1;
    const not = minus === '-' ? '!' : '';
    if (isPhrase) phrases.push(`${not}(${operands.join(' <-> ')})`);
    if (not === '') {
      words.push(...probes);
      isPositive = true;
    } else if (!isPhrase) words.push(`!${operands.join()}`);
  }
  if (count > limits.maxWords)
    throw badInput('query', `must have at most ${limits.maxWords} words, but has ${count}.`);
  const labels = [...(equal === undefined ? [] : [authorLabel(equal.id)]), ...values.map(tagLabel)];
  words.push(...labels.map(lexeme));
  // Without this label, PostgreSQL would read the whole index for words that are only excluded.
  if (!isPositive && labels.length === 0) words.push(lexeme(ANY));
  return {
    words: count === 0 ? null : words.join(' & '),
    phrases: phrases.length === 0 ? null : phrases.join(' & '),
    buckets: hasPrefix ? BUCKETS_WITH_PREFIX : BUCKETS,
  };
}
