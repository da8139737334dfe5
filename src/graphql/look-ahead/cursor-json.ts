import {
  CURSOR_CHARACTERS,
  cursorOfPosition,
  POSITION_CHARACTERS,
  positionSql,
} from '../pagination/cursor.ts';
import type { Piece } from './json-text.ts';

/**
 * In JSON that the database writes, a tab stands for the opening quote of an unfinished cursor. No JSON holds it:
 * control characters are escaped there (RFC 8259 section 7).
 */
const UNFINISHED = '\t';
/** Makes an unfinished cursor as long as a finished one, so that the size of the JSON is known. */
const FILLING = '.'.repeat(CURSOR_CHARACTERS - POSITION_CHARACTERS);

/** The size of a cursor in JSON. */
export const CURSOR_JSON_BYTES = CURSOR_CHARACTERS + 2;

/** The unfinished cursor of the row under `alias`. Its checksum would cost SQL more than the row. */
export const cursorJson = (alias: string): Piece[] => [
  { text: UNFINISHED + FILLING },
  { sql: positionSql(alias) },
  { text: '"' },
];

/** The JSON with its cursors finished, byte for byte those of `encodeCursor`. */
export function withCursors(json: string): string {
  let at = json.indexOf(UNFINISHED);
  if (at === -1) return json;
  let text = '';
  let from = 0;
  for (; at !== -1; at = json.indexOf(UNFINISHED, from)) {
    text += `${json.slice(from, at)}"`;
    from = at + 1 + CURSOR_CHARACTERS;
    text += cursorOfPosition(json.slice(at + 1 + FILLING.length, from));
  }
  return text + json.slice(from);
}
