import { opaqueText } from '../../platform/opaque-id.ts';
import { CURSOR_BYTES } from '../pagination/cursor.ts';
import type { Piece } from './json-text.ts';

/** A cursor in base64. Its bytes are a multiple of three, so there is no padding. */
const CHARACTERS = (CURSOR_BYTES / 3) * 4;
/** The size of a cursor in JSON. */
export const CURSOR_JSON_BYTES = CHARACTERS + 2;

/**
 * In JSON that the database writes, a cursor begins with this in place of its quote, and has no frame yet. No JSON holds
 * it: control characters are escaped there (RFC 8259 section 7).
 */
const UNFINISHED = '\t';

/** The cursor of the row under `alias`, as the pieces of such JSON. A checksum costs SQL more than the row. */
export const cursorJson = (alias: string): Piece[] => [
  { text: UNFINISHED },
  {
    sql: `encode('\\x00'::bytea || int8send((extract(epoch FROM ${alias}."createdAt") * 1000)::bigint) || uuid_send(${alias}."id") || '\\x0000'::bytea, 'base64')`,
  },
  { text: '"' },
];

/** A cursor being finished. */
const SCRATCH = Buffer.alloc(CURSOR_BYTES);

/** The JSON with its cursors finished, byte for byte those of `encodeCursor`. */
export function withCursors(json: string): string {
  let at = json.indexOf(UNFINISHED);
  if (at === -1) return json;
  let text = '';
  let from = 0;
  for (; at !== -1; at = json.indexOf(UNFINISHED, from)) {
    text += `${json.slice(from, at)}"`;
    from = at + 1 + CHARACTERS;
    SCRATCH.write(json.slice(at + 1, from), 'base64');
    text += opaqueText(SCRATCH);
  }
  return text + json.slice(from);
}
