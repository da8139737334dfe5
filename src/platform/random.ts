import { randomFillSync } from 'node:crypto';

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
