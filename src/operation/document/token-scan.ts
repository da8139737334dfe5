import { type Outline, Selections } from './selections.ts';

/** What can be counted in a document's text without parsing it. */
export interface TextFigures {
  /** Counting stops once the limit is exceeded. */
  readonly tokens: number;
  readonly aliases: number;
  readonly directives: number;
  /** Length in characters of the longest name of any kind. */
  readonly longestName: number;
  /** Deepest nesting of brackets of any kind. */
  readonly nesting: number;
  /**
   * Pairs within one selection of fields with the same response name, and of fragments, as far as the text
   * shows them.
   */
  readonly overlaps: number;
  readonly outlines: readonly Outline[];
}

/**
 * Kinds of characters that start a token or a comment (GraphQL section 2.1). All others are white space and
 * commas.
 */
const NAME = 1;
const NUMBER = 2;
const OPENING = 3;
const CLOSING = 4;
const PUNCTUATOR = 5;
const QUOTE = 6;
const COMMENT = 7;
const DOT = 8;

const KINDS = new Uint8Array(128);
function define(kind: number, characters: string): void {
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;
}
define(NAME, 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_');
define(NUMBER, '-0123456789');
define(OPENING, '{[(');
define(CLOSING, '}])');
define(PUNCTUATOR, '!$&:=@|');
define(QUOTE, '"');
define(COMMENT, '#');
define(DOT, '.');

const kindAt = (text: string, at: number): number => KINDS[text.charCodeAt(at)] ?? 0;

/** The end of the string that starts at `start` (GraphQL section 2.9.4). */
function endOfString(text: string, start: number): number {
  if (text.startsWith('"""', start)) {
    let end = text.indexOf('"""', start + 3);
    // An escaped end is three quotes: those after it are not part of the escape.
    while (end !== -1 && text[end - 1] === '\\') end = text.indexOf('"""', end + 3);
    return end === -1 ? text.length : end + 3;
  }
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\\') at += 1;
    else if (character === '"') return at + 1;
    // A string ends with its line: the parser rejects this one.
    else if (character === '\n' || character === '\r') return at;
  }
  return text.length;
}

function endOfLine(text: string, start: number): number {
  let at = start;
  while (at < text.length && text[at] !== '\n' && text[at] !== '\r') at += 1;
  return at;
}

/**
 * The end of the name or number that starts at `start`. A number may contain a dot and the sign of an
 * exponent.
 */
function endOfWord(text: string, start: number, first: number): number {
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const kind = kindAt(text, at);
    const goesOn =
      kind === NAME || kind === NUMBER || (first === NUMBER && (kind === DOT || text[at] === '+'));
    if (!goesOn) return at;
  }
  return at;
}

/**
 * Counts in one pass what makes a text expensive to parse and validate, so that it can be refused before
 * either. Exact for documents; anything else is left to the parser to reject.
 */
export function scanText(text: string, maxTokens: number): TextFigures {
  const selections = new Selections();
  let tokens = 0;
  let aliases = 0;
  let directives = 0;
  let longestName = 0;
  let nesting = 0;
  let depth = 0;
  let parentheses = 0;
  let at = 0;

  function punctuator(character: string | undefined): void {
    if (character === '@') {
      directives += 1;
      if (parentheses === 0) selections.aliasOrDirective();
    } else if (character === ':' && parentheses === 0) {
      // Inside parentheses a colon follows an argument, a variable or an object member.
      aliases += 1;
      selections.aliasOrDirective();
    }
  }

  function bracket(kind: number, character: string | undefined): void {
    const step = kind === OPENING ? 1 : -1;
    depth += step;
    if (depth > nesting) nesting = depth;
    if (character === '(' || character === ')') parentheses += step;
    else if (parentheses !== 0) return;
    else if (character === '{') selections.enter();
    else if (character === '}') selections.leave();
  }

  while (at < text.length && tokens <= maxTokens) {
    const kind = kindAt(text, at);
    if (kind === COMMENT) at = endOfLine(text, at);
    else if (kind === 0) at += 1;
    else {
      tokens += 1;
      const start = at;
      if (kind === NAME || kind === NUMBER) {
        at = endOfWord(text, at, kind);
        if (kind === NAME && at - start > longestName) longestName = at - start;
        if (parentheses === 0) selections.name(text.slice(start, at));
      } else if (kind === QUOTE) at = endOfString(text, at);
      else if (kind === DOT) {
        at += 3;
        if (parentheses === 0) selections.spread(start);
      } else {
        at += 1;
        if (kind === PUNCTUATOR) punctuator(text[start]);
        else bracket(kind, text[start]);
      }
    }
  }
  const { overlaps, outlines } = selections;
  return { tokens, aliases, directives, longestName, nesting, overlaps, outlines };
}
