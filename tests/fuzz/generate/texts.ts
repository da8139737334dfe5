import type { Random } from '../../support/random.ts';
import { oneIn } from './draw.ts';

const PIECES = [
  'a',
  'text',
  ' ',
  '  ',
  '\n',
  '\r\n',
  '\t',
  '"',
  '"""',
  '\\',
  '\\u0041',
  "'",
  '`',
  '$1',
  '%s',
  '{}',
  ':',
  ';--',
  '\u0001',
  '\u001f',
  '\u007f',
  '\u00a0',
  'ü',
  'e\u0301',
  '\u2028',
  '\u2029',
  '\ufeff',
  '\uffff',
  '🐧',
  '𝒳',
  '東京',
  'data: x\n\n',
  'null',
  '</script>',
] as const;

/** What no text may hold (contract: schema). */
const REJECTED = ['\0', '\ud800', '\udc00', 'x\udfff'] as const;

/** Texts of all kinds, now and then one that is rejected, or long. */
export function randomText(random: Random): string {
  if (oneIn(random, 30)) return random.pick(REJECTED);
  if (oneIn(random, 40)) return random.pick(['', ' ', '\n\t', '\u3000']);
  if (oneIn(random, 40)) {
    const length = random.pick([50, 51, 100, 101, 200, 201, 5_000, 5_001]);
    return random.pick(['x', 'ü', '🐧']).repeat(length);
  }
  let text = '';
  for (let left = 1 + random.below(5); left > 0; left -= 1) text += random.pick(PIECES);
  return text;
}

function escaped(random: Random, character: string): string {
  const point = character.codePointAt(0) ?? 0;
  if (point > 0xffff) {
    if (oneIn(random, 2)) return `\\u{${point.toString(16)}}`;
    const units = [character.charCodeAt(0), character.charCodeAt(1)];
    return units.map((unit) => `\\u${unit.toString(16)}`).join('');
  }
  return `\\u${point.toString(16).padStart(4, '0').toUpperCase()}`;
}

/** Whether a block string can hold the text. */
const fitsBlock = (text: string) =>
  !/[\p{Cc}\p{Cs}]/u.test(text.replaceAll(/[\n\t]/g, '')) && !text.endsWith('\\');

/** A text as a string of GraphQL: quoted with more or fewer escapes, or as a block string. */
export function stringLiteral(random: Random, text: string): string {
  if (oneIn(random, 8) && fitsBlock(text)) {
    const indent = random.pick(['', '  ', '\n', '\n  ']);
    const block = text.replaceAll('"""', '\\"""');
    // A quotation mark before the closing three would be taken for one of them.
    return `"""${indent}${block}${block.endsWith('"') ? '\n' : random.pick(['', '\n', '\n  '])}"""`;
  }
  let literal = '';
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    const must = point < 0x20 || character === '"' || character === '\\';
    const short = new Map([
      ['\n', '\\n'],
      ['\t', '\\t'],
      ['\r', '\\r'],
      ['"', '\\"'],
      ['\\', '\\\\'],
    ]).get(character);
    if (must) literal += short !== undefined && !oneIn(random, 6) ? short : escaped(random, character);
    else literal += oneIn(random, 15) ? escaped(random, character) : character;
  }
  return `"${literal}"`;
}
