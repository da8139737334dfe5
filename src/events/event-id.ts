import { CONTENT_START, FRAME_BYTES, opaqueBytes, opaqueText } from '../platform/opaque-id.ts';
import type { EventPlace } from './event-place.ts';
import { MARK_DIGITS, type MarkedPosition } from './position.ts';

/** An event as an id names it. */
export type EventName = Pick<MarkedPosition, 'id' | 'mark'>;

/** What an event id says. Where the events are in the log, only the log knows. */
export interface DecodedId {
  readonly event: EventName;
  /** The last event that was committed before the reader came, and the distances of the transactions running then. */
  readonly before: { readonly event: EventName; readonly distances: readonly bigint[] } | undefined;
}

const NUMBER_BYTES = 8;
const NAME_BYTES = NUMBER_BYTES + MARK_DIGITS / 2;
/** Event numbers are JavaScript numbers. */
const MAX_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);
/** The most running transactions in an id, which takes one or two bytes for each. */
export const MAX_RUNNING = 1_000;
/** Seven bits in each byte (LEB128): the distances are small. */
const MORE = 0x80;
const MAX_DISTANCE_BYTES = 9;

function writeName(bytes: Buffer, { id, mark }: EventName, at: number): void {
  bytes.writeBigUInt64BE(BigInt(id), at);
  bytes.write(mark, at + NUMBER_BYTES, 'hex');
}

function readName(bytes: Buffer, at: number): EventName | undefined {
  const id = bytes.readBigUInt64BE(at);
  if (id > MAX_NUMBER) return undefined;
  return { id: Number(id), mark: bytes.toString('hex', at + NUMBER_BYTES, at + NAME_BYTES) };
}

/** Each transaction as its distance from the one before it, the first from the event's. */
function distancesOf({ xid, running }: NonNullable<EventPlace['before']>): number[] {
  const bytes: number[] = [];
  let last = xid;
  for (const transaction of running) {
    let distance = last - transaction;
    for (; distance >= MORE; distance >>= 7n) bytes.push(Number(distance & 0x7fn) | MORE);
    bytes.push(Number(distance));
    last = transaction;
  }
  return bytes;
}

/** Undefined if the bytes are anything else than what `distancesOf` writes. */
function readDistances(bytes: Buffer): bigint[] | undefined {
  const distances: bigint[] = [];
  let distance = 0n;
  let length = 0;
  for (const byte of bytes) {
    distance |= BigInt(byte & 0x7f) << BigInt(7 * length);
    length += 1;
    if (byte & MORE) {
      if (length === MAX_DISTANCE_BYTES) return undefined;
      continue;
    }
    // Two transactions are not one, and a last byte without bits is one too many.
    if (distance === 0n || (byte === 0 && length > 1)) return undefined;
    distances.push(distance);
    distance = 0n;
    length = 0;
  }
  const fits = length === 0 && distances.length > 0 && distances.length <= MAX_RUNNING;
  return fits ? distances : undefined;
}

/**
 * Encodes the place as an opaque string of 28 characters; longer for a reader that came while transactions were running,
 * until the events of those times are behind it.
 */
export function encodeEventId(place: EventPlace): string {
  const { before } = place;
  const distances = before === undefined ? [] : distancesOf(before);
  const bytes = Buffer.alloc(
    FRAME_BYTES + NAME_BYTES + (before === undefined ? 0 : NAME_BYTES) + distances.length,
  );
  writeName(bytes, place, CONTENT_START);
  if (before !== undefined) {
    writeName(bytes, before, CONTENT_START + NAME_BYTES);
    bytes.set(distances, CONTENT_START + 2 * NAME_BYTES);
  }
  return opaqueText(bytes);
}

/** Encodes the place right after an event, for a reader that has seen nothing later. */
export function encodeEventName(name: EventName): string {
  const bytes = Buffer.alloc(FRAME_BYTES + NAME_BYTES);
  writeName(bytes, name, CONTENT_START);
  return opaqueText(bytes);
}

/**
 * Decodes an event id. Undefined for any other string. The checksum detects mistakes but not forgery, so the log still has
 * to know the events.
 */
export function decodeEventId(eventId: string): DecodedId | undefined {
  const bytes = opaqueBytes(eventId);
  if (bytes === undefined || bytes.length < FRAME_BYTES + NAME_BYTES) return undefined;
  const event = readName(bytes, CONTENT_START);
  if (event === undefined) return undefined;
  if (bytes.length === FRAME_BYTES + NAME_BYTES) return { event, before: undefined };
  if (bytes.length < FRAME_BYTES + 2 * NAME_BYTES) return undefined;
  const last = readName(bytes, CONTENT_START + NAME_BYTES);
  const content = bytes.subarray(0, bytes.length - (FRAME_BYTES - CONTENT_START));
  const distances = readDistances(content.subarray(CONTENT_START + 2 * NAME_BYTES));
  if (last === undefined || last.id === 0 || distances === undefined) return undefined;
  return { event, before: { event: last, distances } };
}
