import { crc32 } from 'node:zlib';
import type { LogPosition } from './log.ts';

/** A position in one generation of the log: what an event id stands for. */
export interface EventPlace extends LogPosition {
  /** Eight bytes as hexadecimal digits. */
  readonly generation: string;
}

const VERSION = 1;
const BYTES = 1 + 8 + 8 + 8 + 2;

function check(bytes: Uint8Array): number {
  return crc32(bytes.subarray(0, BYTES - 2)) & 0xffff;
}

/** The place as an opaque string of 36 characters. */
export function encodeEventId({ generation, xid, id }: EventPlace): string {
  const bytes = Buffer.alloc(BYTES);
  bytes.writeUInt8(VERSION, 0);
  bytes.write(generation, 1, 'hex');
  bytes.writeBigUInt64BE(xid, 9);
  bytes.writeBigUInt64BE(BigInt(id), 17);
  bytes.writeUInt16BE(check(bytes), BYTES - 2);
  return bytes.toString('base64url');
}

/** The place that an event id of ours stands for; undefined for any other string. */
export function decodeEventId(eventId: string): EventPlace | undefined {
  const bytes = Buffer.from(eventId, 'base64url');
  if (bytes.length !== BYTES || bytes.toString('base64url') !== eventId || bytes[0] !== VERSION)
    return undefined;
  if (bytes.readUInt16BE(BYTES - 2) !== check(bytes)) return undefined;
  const id = bytes.readBigUInt64BE(17);
  if (id > BigInt(Number.MAX_SAFE_INTEGER)) return undefined;
  return { generation: bytes.toString('hex', 1, 9), xid: bytes.readBigUInt64BE(9), id: Number(id) };
}
