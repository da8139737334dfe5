import { randomFillSync } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { v7 } from 'uuid';

const VERSION = 1;
const CHECK_BYTES = 2;

/** What an opaque id has beside its content, in bytes: a version first, a checksum last. */
export const FRAME_BYTES = 1 + CHECK_BYTES;
/** Where the content begins. */
export const CONTENT_START = 1;

function check(bytes: Uint8Array): number {
  return crc32(bytes.subarray(0, bytes.length - CHECK_BYTES)) & 0xffff;
}

/** Text that is safe in URLs, from bytes whose content is already in its place. Fills in the frame. */
export function opaqueText(bytes: Buffer): string {
  bytes.writeUInt8(VERSION, 0);
  bytes.writeUInt16BE(check(bytes), bytes.length - CHECK_BYTES);
  return bytes.toString('base64url');
}

/**
 * The bytes behind such a text, frame included; undefined for any other string. The checksum detects mistakes, not
 * forgery: the content must still be checked.
 */
export function opaqueBytes(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length < FRAME_BYTES || bytes[0] !== VERSION || bytes.toString('base64url') !== text)
    return undefined;
  return bytes.readUInt16BE(bytes.length - CHECK_BYTES) === check(bytes) ? bytes : undefined;
}

/** The length of one piece. */
const PIECE_BYTES = 16;
const PIECES = 256;

/** Random bytes for many pieces: a system call for each would cost more than what it is for. */
let pool = Buffer.alloc(0);
let used = 0;

/** 16 unpredictable bytes, never given out before. */
export function randomPiece(): Buffer {
  if (used === pool.length) {
    // A new buffer: the pieces of the old one may still be in use.
    pool = randomFillSync(Buffer.alloc(PIECE_BYTES * PIECES));
    used = 0;
  }
  used += PIECE_BYTES;
  return pool.subarray(used - PIECE_BYTES, used);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

let lastMs = 0;
let sequence = 0;

/** A UUIDv7 (RFC 9562 section 5.7). Ids made by one process sort by creation. */
export function newId(): string {
  const random = randomPiece();
  const nowMs = Date.now();
  if (nowMs > lastMs) {
    lastMs = nowMs;
    // Starts in the lower half of the range to leave room for counting.
    sequence = random.readUInt32BE(6) >>> 1;
  } else sequence += 1;
  return v7({ random, msecs: lastMs, seq: sequence });
}

/** Whether the string is a UUID as this service prints it. PostgreSQL's uuid type accepts all of these. */
export function isUuid(value: string): boolean {
  return UUID.test(value);
}
