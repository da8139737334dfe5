/** Contract section 2. What JSON costs depends on its values and their nesting, not on its bytes. */
export const MAX_JSON_VALUES = 20_000;
export const MAX_JSON_LEVELS = 64;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The index of the quote that ends the string that begins at `start`; the length of the text if none does. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
}

/** White space and what else has code points below that of a space. */
const isSpace = (code: number) => code <= 0x20;

/**
 * What is too much in a JSON text; undefined if nothing is. Looks at brackets and commas outside strings, so it says the
 * same of every valid text as counting its values would. Arrays and objects are values too.
 */
export function excessOf(text: string): string | undefined {
  let values = 1;
  let levels = 0;
  /** Whether the array or object that was opened last has shown no member yet. */
  let empty = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isSpace(code)) continue;
    if (code === CLOSE_BRACKET || code === CLOSE_BRACE) {
      levels -= 1;
      empty = false;
      continue;
    }
    if (empty || code === COMMA) {
      values += 1;
      if (values > MAX_JSON_VALUES) return `has more than ${MAX_JSON_VALUES} values`;
    }
    empty = code === OPEN_BRACKET || code === OPEN_BRACE;
    if (empty) {
      levels += 1;
      if (levels > MAX_JSON_LEVELS) return `is nested more than ${MAX_JSON_LEVELS} levels deep`;
    } else if (code === QUOTE) at = endOfString(text, at);
  }
  return undefined;
}
