import { randomFillSync } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { v7 } from 'uuid';

const VERSION = 1;
const CHECK_BYTES = 2;

/** An opaque id begins with a version and ends with a checksum. */
export const FRAME_BYTES = 1 + CHECK_BYTES;
export const CONTENT_START = 1;

function check(bytes: Uint8Array): number {
  return crc32(bytes.subarray(0, bytes.length - CHECK_BYTES)) & 0xffff;
}

/** Encodes an opaque id for URLs. The content must already be at CONTENT_START. */
export function opaqueText(bytes: Buffer): string {
  bytes.writeUInt8(VERSION, 0);
  bytes.writeUInt16BE(check(bytes), bytes.length - CHECK_BYTES);
  return bytes.toString('base64url');
}

/**
 * The checksum detects errors, not forgery, so the content must still be checked.
 * @returns undefined for any other string
 */
export function opaqueBytes(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length < FRAME_BYTES || bytes[0] !== VERSION || bytes.toString('base64url') !== text)
    return undefined;
  return bytes.readUInt16BE(bytes.length - CHECK_BYTES) === check(bytes) ? bytes : undefined;
}

const PIECE_BYTES = 16;
const PIECES = 256;

/** A system call for each piece would cost more than the use of the piece. */
let pool = Buffer.alloc(0);
let used = 0;

export function randomPiece(): Buffer {
  if (used === pool.length) {
    // The pieces of the old buffer may still be in use.
    pool = randomFillSync(Buffer.alloc(PIECE_BYTES * PIECES));
    used = 0;
  }
  used += PIECE_BYTES;
  return pool.subarray(used - PIECE_BYTES, used);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

let lastMs = 0;
let sequence = 0;

/** Creates a UUIDv7 (RFC 9562 §5.7). Ids of one process sort by creation. */
export function newId(): string {
  const random = randomPiece();
  const nowMs = Date.now();
  if (nowMs > lastMs) {
    lastMs = nowMs;
    // The lower half of the range leaves room for counting.
    sequence = random.readUInt32BE(6) >>> 1;
  } else sequence += 1;
  return v7({ random, msecs: lastMs, seq: sequence });
}

/** PostgreSQL's uuid type accepts all of these strings. */
export function isUuid(value: string): boolean {
  return UUID.test(value);
}
