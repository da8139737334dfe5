import { crc32 } from 'node:zlib';
import type { Run } from './committed-before-start.ts';
import type { LogPosition } from './position.ts';

/** What an event id stands for: a position in one generation of the log, and what of the rest its reader is not to get. */
export interface EventPlace extends LogPosition {
  /** Eight bytes as hexadecimal digits. */
  readonly generation: string;
  /** Numbers of events after the position that were committed before the reader first came. */
  readonly early: readonly Run[];
}

const VERSION = 1;
const HEAD_BYTES = 1 + 8 + 8 + 8;
const RUN_BYTES = 8 + 4;
const CHECK_BYTES = 2;
/** Numbers of events are JavaScript numbers. */
const MAX_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);

function check(bytes: Uint8Array): number {
  return crc32(bytes.subarray(0, bytes.length - CHECK_BYTES)) & 0xffff;
}

/** The place as an opaque string: 36 characters, and 16 for each run. */
export function encodeEventId({ generation, xid, id, early }: EventPlace): string {
  const bytes = Buffer.alloc(HEAD_BYTES + early.length * RUN_BYTES + CHECK_BYTES);
  bytes.writeUInt8(VERSION, 0);
  bytes.write(generation, 1, 'hex');
  bytes.writeBigUInt64BE(xid, 9);
  bytes.writeBigUInt64BE(BigInt(id), 17);
  early.forEach(([first, count], index) => {
    const offset = HEAD_BYTES + index * RUN_BYTES;
    bytes.writeBigUInt64BE(BigInt(first), offset);
    bytes.writeUInt32BE(count, offset + 8);
  });
  bytes.writeUInt16BE(check(bytes), bytes.length - CHECK_BYTES);
  return bytes.toString('base64url');
}

/**
 * The place that an event id of ours stands for; undefined for any other string. The checksum finds mistakes and keeps
 * nobody from making an id up: whatever it holds has to be a place that the log could have.
 */
export function decodeEventId(eventId: string): EventPlace | undefined {
  const bytes = Buffer.from(eventId, 'base64url');
  const runs = (bytes.length - HEAD_BYTES - CHECK_BYTES) / RUN_BYTES;
  if (!Number.isInteger(runs) || runs < 0) return undefined;
  if (bytes.toString('base64url') !== eventId || bytes[0] !== VERSION) return undefined;
  if (bytes.readUInt16BE(bytes.length - CHECK_BYTES) !== check(bytes)) return undefined;
  const id = bytes.readBigUInt64BE(17);
  if (id > MAX_NUMBER) return undefined;
  const early: Run[] = [];
  for (let offset = HEAD_BYTES; offset < bytes.length - CHECK_BYTES; offset += RUN_BYTES) {
    const first = bytes.readBigUInt64BE(offset);
    const count = bytes.readUInt32BE(offset + 8);
    if (count === 0 || first + BigInt(count) > MAX_NUMBER) return undefined;
    early.push([Number(first), count]);
  }
  return { generation: bytes.toString('hex', 1, 9), xid: bytes.readBigUInt64BE(9), id: Number(id), early };
}
