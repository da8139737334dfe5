import { isUuid } from '../platform/uuid.ts';
import { badInput } from './errors.ts';

/** The number of Unicode code points: what every length in the contract counts. */
function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

export interface TextRule {
  readonly min: number;
  readonly max: number;
  /** Whether white space alone is refused. */
  readonly visible?: boolean;
}

/** A rule's length in words, such as "1 to 5,000 characters". */
export const lengthOf = ({ min, max }: TextRule): string =>
  `${min} to ${max.toLocaleString('en')} characters`;

/**
 * Returns the text unchanged where it holds to the rule. PostgreSQL stores no NUL, and UTF-8 has no lone surrogates:
 * both are refused rather than replaced. Throws BAD_USER_INPUT.
 */
export function checkText(argument: string, text: string, { min, max, visible = false }: TextRule): string {
  if (text.includes('\0')) throw badInput(argument, 'must not contain the NUL character.');
  if (!text.isWellFormed()) throw badInput(argument, 'must not contain a lone surrogate.');
  // A code point takes one or two units: most lengths are settled by that.
  if (text.length > max || text.length < 2 * min) {
    const length = codePoints(text);
    if (length < min || length > max)
      throw badInput(argument, `must be ${min} to ${max} characters long; it has ${length}.`);
  }
  if (visible && text.trim() === '') throw badInput(argument, 'must hold something other than white space.');
  return text;
}

/** The id in its canonical form; undefined where the text is no UUID and so names nothing (contract section 1). */
export function parseId(id: string | number): string | undefined {
  const text = String(id);
  return isUuid(text) ? text.toLowerCase() : undefined;
}
