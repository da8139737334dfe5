import { CONTENT_START, FRAME_BYTES, opaqueBytes, opaqueText } from '../platform/opaque-id.ts';
import type { Run } from './committed-before-start.ts';
import type { EventPlace } from './event-place.ts';

const GENERATION_BYTES = 8;
const XID_START = CONTENT_START + GENERATION_BYTES;
const NUMBER_START = XID_START + 8;
const RUNS_START = NUMBER_START + 8;
const FIXED_BYTES = FRAME_BYTES + GENERATION_BYTES + 8 + 8;
const RUN_BYTES = 8 + 4;
/** Event numbers are JavaScript numbers. */
const MAX_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);

/** Encodes the place as an opaque string: 36 characters plus 16 per run. */
export function encodeEventId({ generation, xid, id, early }: EventPlace): string {
  const bytes = Buffer.alloc(FIXED_BYTES + early.length * RUN_BYTES);
  bytes.write(generation, CONTENT_START, 'hex');
  bytes.writeBigUInt64BE(xid, XID_START);
  bytes.writeBigUInt64BE(BigInt(id), NUMBER_START);
  early.forEach(([first, count], index) => {
    const offset = RUNS_START + index * RUN_BYTES;
    bytes.writeBigUInt64BE(BigInt(first), offset);
    bytes.writeUInt32BE(count, offset + 8);
  });
  return opaqueText(bytes);
}

/**
 * Decodes an event id. Undefined for any other string. The checksum detects mistakes but not forgery, so the
 * content must still be a valid place.
 */
export function decodeEventId(eventId: string): EventPlace | undefined {
  const bytes = opaqueBytes(eventId);
  if (bytes === undefined) return undefined;
  const runs = (bytes.length - FIXED_BYTES) / RUN_BYTES;
  if (!Number.isInteger(runs) || runs < 0) return undefined;
  const id = bytes.readBigUInt64BE(NUMBER_START);
  if (id > MAX_NUMBER) return undefined;
  const early: Run[] = [];
  for (let run = 0; run < runs; run += 1) {
    const offset = RUNS_START + run * RUN_BYTES;
    const first = bytes.readBigUInt64BE(offset);
    const count = bytes.readUInt32BE(offset + 8);
    if (count === 0 || first + BigInt(count) > MAX_NUMBER) return undefined;
    early.push([Number(first), count]);
  }
  return {
    generation: bytes.toString('hex', CONTENT_START, XID_START),
    xid: bytes.readBigUInt64BE(XID_START),
    id: Number(id),
    early,
  };
}
