import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const RANDOM_BYTES = 16;
/** Random bytes for many ids: asking the system for a few at a time costs more than all the rest of an id. */
const pool = Buffer.alloc(RANDOM_BYTES * 256);
let used = pool.length;
let lastMs = 0;
let sequence = 0;

function nextRandom(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += RANDOM_BYTES;
  return pool.subarray(used - RANDOM_BYTES, used);
}

/** A UUIDv7 (RFC 9562 section 5.7): later ones of this process sort after earlier ones. */
export function newId(): string {
  const random = nextRandom();
  const nowMs = Date.now();
  if (nowMs > lastMs) {
    lastMs = nowMs;
    // Half of the range is left to count up in.
    sequence = random.readUInt32BE(6) >>> 1;
  } else sequence += 1;
  return v7({ random, msecs: lastMs, seq: sequence });
}

/** Whether PostgreSQL's uuid type takes the string in the form that this service prints. */
export function isUuid(value: string): boolean {
  return UUID.test(value);
}
