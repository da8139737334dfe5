import { v7 } from 'uuid';
import { randomPiece } from './random.ts';

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
