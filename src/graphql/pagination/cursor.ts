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
const BYTES = FRAME_BYTES + TIME_BYTES + ID_BYTES;
/** The years -1 to 9999 in milliseconds: a little more than DateTime has (`Date.UTC(0, 0)` would mean 1900). */
const MIN_TIME = Date.UTC(-1, 0);
const MAX_TIME = Date.UTC(10_000, 0);

/** The position as an opaque string of 36 characters, safe in URLs. */
export function encodeCursor({ createdAt, id }: Position): string {
  const bytes = Buffer.alloc(BYTES);
  writeTime(bytes, createdAt.getTime());
  bytes.write(id.replaceAll('-', ''), ID_START, 'hex');
  return opaqueText(bytes);
}

/** A position as the database writes it for `cursorOfPosition`: the binary forms of instant and id, in base64. */
export const positionSql = (row: string): string =>
  `encode(timestamptz_send(${row}."createdAt") || uuid_send(${row}."id"), 'base64')`;

/** In base64. The bytes are multiples of three, so there is no padding. */
export const POSITION_CHARACTERS = ((TIME_BYTES + ID_BYTES) / 3) * 4;
export const CURSOR_CHARACTERS = (BYTES / 3) * 4;

/** PostgreSQL sends instants as microseconds since 2000. Columns of instants have milliseconds. */
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0);
const HIGH_HALF = 2 ** 32;
const SCRATCH = Buffer.alloc(BYTES);

/** The cursor of a position that `positionSql` has written. */
export function cursorOfPosition(position: string): string {
  SCRATCH.write(position, CONTENT_START, 'base64');
  const high = SCRATCH.readInt32BE(CONTENT_START);
  const microseconds = high * HIGH_HALF + SCRATCH.readUInt32BE(CONTENT_START + 4);
  // Beyond the years 1715 to 2285 a number does not hold them. A bigint costs as much as the rest of the cursor.
  const milliseconds = Number.isSafeInteger(microseconds)
    ? microseconds / 1_000
    : Number(SCRATCH.readBigInt64BE(CONTENT_START) / 1_000n);
  writeTime(SCRATCH, milliseconds + POSTGRES_EPOCH_MS);
  return opaqueText(SCRATCH);
}

/** Milliseconds since 1970, as a big-endian integer of 64 bits. */
function writeTime(bytes: Buffer, milliseconds: number): void {
  bytes.writeInt32BE(Math.floor(milliseconds / HIGH_HALF), CONTENT_START);
  // A remainder has the sign of the dividend.
  bytes.writeUInt32BE(((milliseconds % HIGH_HALF) + HIGH_HALF) % HIGH_HALF, CONTENT_START + 4);
}

/** Decodes a cursor of this service. Throws BAD_USER_INPUT, naming `argument`, for any other string. */
export function decodeCursor(argument: string, cursor: string): Position {
  const bytes = opaqueBytes(cursor);
  if (bytes?.length !== BYTES) throw badInput(argument, 'is not a cursor of this service.');
  const time = Number(bytes.readBigInt64BE(CONTENT_START));
  if (time < MIN_TIME || time > MAX_TIME) throw badInput(argument, 'is not a cursor of this service.');
  const hex = bytes.toString('hex', ID_START, ID_START + ID_BYTES);
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  return { createdAt: new Date(time), id };
}
