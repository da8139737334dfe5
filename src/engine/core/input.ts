import { badInput } from '../../platform/errors.ts';
import { isUuid } from '../../platform/ids.ts';

/** All lengths in the contract are numbers of Unicode code points. */
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

/** Formats the limits, such as "1 to 5,000 characters". */
export const lengthOf = ({ min, max }: TextRule): string =>
  `${min} to ${max.toLocaleString('en')} characters`;

/** Strings of white space, control characters and characters that no font shows look empty. */
const INVISIBLE = /^[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/**
 * PostgreSQL cannot store NUL, and UTF-8 cannot encode lone surrogates, so both are rejected, not replaced.
 * @param subject names a part of the argument in the message
 * @throws {ApiError} BAD_USER_INPUT
 */
export function checkCharacters(argument: string, text: string, subject = ''): string {
  if (text.includes('\0')) throw badInput(argument, `${subject}must not contain the NUL character.`);
  if (!text.isWellFormed()) throw badInput(argument, `${subject}must not contain a lone surrogate.`);
  return text;
}

/**
 * @param subject names a part of the argument in the message
 * @throws {ApiError} BAD_USER_INPUT
 */
export function checkText(
  argument: string,
  text: string,
  { min, max, visible = false }: TextRule,
  subject = '',
): string {
  checkCharacters(argument, text, subject);
  // A code point has one or two UTF-16 units, so most strings need no count.
  if (text.length > max || text.length < 2 * min) {
    const length = codePoints(text);
    if (length < min || length > max)
      throw badInput(argument, `${subject}must be ${min} to ${max} characters long, but has ${length}.`);
  }
  if (visible && INVISIBLE.test(text))
    throw badInput(argument, `${subject}must contain a visible character.`);
  return text;
}

/** @returns the id in canonical form; undefined for a string that is no UUID and therefore matches nothing */
export function parseId(id: string | number): string | undefined {
  const text = String(id);
  return isUuid(text) ? text.toLowerCase() : undefined;
}
