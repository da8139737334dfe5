import { crc32 } from 'node:zlib';
import { badInput } from '../errors.ts';

/** A place in an order by (createdAt, id). It stays valid when the row that it came from is deleted. */
export interface Position {
  readonly createdAt: Date;
  readonly id: string;
}

const VERSION = 1;
const BYTES = 1 + 8 + 16 + 2;
/** The years 0 to 9999, in milliseconds: what DateTime can say, and well inside what PostgreSQL stores. */
const MIN_TIME = Date.UTC(-1, 0);
const MAX_TIME = Date.UTC(10_000, 0);

function check(bytes: Uint8Array): number {
  return crc32(bytes.subarray(0, BYTES - 2)) & 0xffff;
}

/** The position as an opaque string of 36 characters, safe in URLs. */
export function encodeCursor({ createdAt, id }: Position): string {
  const bytes = Buffer.alloc(BYTES);
  bytes.writeUInt8(VERSION, 0);
  bytes.writeBigInt64BE(BigInt(createdAt.getTime()), 1);
  bytes.write(id.replaceAll('-', ''), 9, 'hex');
  bytes.writeUInt16BE(check(bytes), BYTES - 2);
  return bytes.toString('base64url');
}

/** The position that a cursor of ours stands for. Throws BAD_USER_INPUT naming `argument` for any other string. */
export function decodeCursor(argument: string, cursor: string): Position {
  const bytes = Buffer.from(cursor, 'base64url');
  if (
    bytes.length !== BYTES ||
    bytes.toString('base64url') !== cursor ||
    bytes[0] !== VERSION ||
    bytes.readUInt16BE(BYTES - 2) !== check(bytes)
  ) {
    throw badInput(argument, 'is not a cursor of this service.');
  }
  const time = Number(bytes.readBigInt64BE(1));
  if (time < MIN_TIME || time > MAX_TIME) throw badInput(argument, 'is not a cursor of this service.');
  const hex = bytes.toString('hex', 9, 25);
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  return { createdAt: new Date(time), id };
}
