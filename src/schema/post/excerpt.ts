import { badInput } from '../../platform/errors.ts';
import type { ContentLimits } from '../content-limits.ts';

type ExcerptLimits = ContentLimits['post']['excerpt'];

/** @throws {ApiError} BAD_USER_INPUT */
export function excerptLength(
  length: number | null | undefined,
  { min, max, standard }: ExcerptLimits,
): number {
  const characters = length ?? standard;
  if (characters >= min && characters <= max) return characters;
  throw badInput('length', `must be from ${min} to ${max}, but is ${characters}.`);
}

/** Line breaks and tabs. The service and the database use no class of a regular expression, because locales change those. */
const BREAKS = '\n\r\t\v\f\u0085\u2028\u2029';
const BREAK = new RegExp(`\r\n|[${BREAKS}]`, 'g');
const isSpace = (character: string) => ` ${BREAKS}`.includes(character);

const onOneLine = (text: string) => text.replaceAll(BREAK, ' ');

/** @returns at most `length` code points of the text, without a part of a word, and an ellipsis if the text is longer */
export function excerptOf(text: string, length: number): string {
  // A code point has one or two UTF-16 units.
  const head = [...text.slice(0, 2 * (length + 1))].slice(0, length + 1);
  const shown = onOneLine(head.slice(0, length).join(''));
  const next = head[length];
  if (next === undefined) return shown;
  const words = isSpace(next) ? shown : shown.replace(/ [^ ]*$/, '');
  return `${words.replace(/ +$/, '') || shown}…`;
}

const escapes = (characters: string) =>
  [...characters].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
const BREAKS_SQL = `E'${escapes(BREAKS)}'`;
const onOneLineSql = (text: string) =>
  `translate(replace(${text}, E'\\r\\n', ' '), ${BREAKS_SQL}, '${' '.repeat(BREAKS.length)}')`;

/** SQL of `excerptOf`, which reads the beginning of a long text only. */
export function excerptSql(text: string, length: string): string {
  const words = `CASE WHEN strpos(' ' || ${BREAKS_SQL}, right(e.head, 1)) > 0 THEN e.shown
     ELSE regexp_replace(e.shown, ' [^ ]*$', '') END`;
  return `SELECT CASE WHEN char_length(e.head) <= ${length}::int THEN e.shown
     ELSE coalesce(nullif(rtrim(${words}), ''), e.shown) || '…' END
   FROM (SELECT h.head, ${onOneLineSql(`left(h.head, ${length}::int)`)} AS shown
     FROM (SELECT left(${text}, ${length}::int + 1) AS head OFFSET 0) AS h OFFSET 0) AS e`;
}
