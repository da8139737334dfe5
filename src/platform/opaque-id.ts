import { crc32 } from 'node:zlib';

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
