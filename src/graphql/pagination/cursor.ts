import { CONTENT_START, FRAME_BYTES, opaqueBytes, opaqueText } from '../../platform/opaque-id.ts';
import { badInput } from '../errors.ts';

/** A position in the order (createdAt, id). It stays valid when its row is deleted. */
export interface Position {
  readonly createdAt: Date;
  readonly id: string;
}

const TIME_BYTES = 8;
const ID_START = CONTENT_START + TIME_BYTES;
const ID_BYTES = 16;
/** The size of a cursor before it is text. */
export const CURSOR_BYTES = FRAME_BYTES + TIME_BYTES + ID_BYTES;
/** The years 0 to 9999 in milliseconds: the range of DateTime, well within that of PostgreSQL. */
const MIN_TIME = Date.UTC(-1, 0);
const MAX_TIME = Date.UTC(10_000, 0);

/** The position as an opaque string of 36 characters, safe in URLs. */
export function encodeCursor({ createdAt, id }: Position): string {
  const bytes = Buffer.alloc(CURSOR_BYTES);
  bytes.writeBigInt64BE(BigInt(createdAt.getTime()), CONTENT_START);
  bytes.write(id.replaceAll('-', ''), ID_START, 'hex');
  return opaqueText(bytes);
}

/** Decodes a cursor of this service. Throws BAD_USER_INPUT, naming `argument`, for any other string. */
export function decodeCursor(argument: string, cursor: string): Position {
  const bytes = opaqueBytes(cursor);
  if (bytes?.length !== CURSOR_BYTES) throw badInput(argument, 'is not a cursor of this service.');
  const time = Number(bytes.readBigInt64BE(CONTENT_START));
  if (time < MIN_TIME || time > MAX_TIME) throw badInput(argument, 'is not a cursor of this service.');
  const hex = bytes.toString('hex', ID_START, ID_START + ID_BYTES);
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  return { createdAt: new Date(time), id };
}
