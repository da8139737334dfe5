import { badInput } from '../../platform/errors.ts';
import { isUuid } from '../../platform/ids.ts';

/** The number of Unicode code points, the unit of every length in the contract. */
function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

export interface TextRule {
  readonly min: number;
  readonly max: number;
  /** True if the string must contain a visible character. */
  readonly visible?: boolean;
}

/** The length limits of a rule in words, such as "1 to 5,000 characters". */
export const lengthOf = ({ min, max }: TextRule): string =>
  `${min} to ${max.toLocaleString('en')} characters`;

/** White space, control characters and characters that no font shows: a string of these looks empty. */
const INVISIBLE = /^[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/**
 * Returns the text unchanged if it satisfies the rule. PostgreSQL cannot store NUL, and UTF-8 cannot encode
 * lone surrogates: both are rejected, not replaced. Throws BAD_USER_INPUT.
 */
export function checkText(argument: string, text: string, { min, max, visible = false }: TextRule): string {
  if (text.includes('\0')) throw badInput(argument, 'must not contain the NUL character.');
  if (!text.isWellFormed()) throw badInput(argument, 'must not contain a lone surrogate.');
  // A code point has one or two UTF-16 units, so most texts need no count.
  if (text.length > max || text.length < 2 * min) {
    const length = codePoints(text);
    if (length < min || length > max)
      throw badInput(argument, `must be ${min} to ${max} characters long, but has ${length}.`);
  }
  if (visible && INVISIBLE.test(text)) throw badInput(argument, 'must contain a visible character.');
  return text;
}

/** The id in canonical form; undefined if it is not a UUID and so matches nothing (contract section 1). */
export function parseId(id: string | number): string | undefined {
  const text = String(id);
  return isUuid(text) ? text.toLowerCase() : undefined;
}
