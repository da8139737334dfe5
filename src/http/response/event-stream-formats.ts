import { MULTIPART, type StreamType } from '../../engine/documents/operation-request.ts';
import type { Frame, StreamFormat } from '../../engine/events/event-stream.ts';
import { textWith } from '../../engine/operation/outcome.ts';
import type { ReceivedRequest } from '../exchange.ts';
import type { HttpRequest } from '../message.ts';

/** The last block of a stream with a single result has this id, which names no event. */
export const END_ID = 'end';

/** True if an EventSource reconnects after the end of such a stream. Only 204 stops an EventSource (HTML §9.2.2). */
export const reconnectsAfterEnd = (
  { method, headers }: HttpRequest,
  { streamType }: ReceivedRequest,
): boolean =>
  streamType === 'text/event-stream' && method === 'GET' && headers.get('last-event-id') === END_ID;

const CHUNK_END = Buffer.from('\r\n');

/** The bytes lie between the head and the end of an HTTP chunk (RFC 9112 §7.1). */
function frame(text: string): Frame {
  const bytes = Buffer.byteLength(text);
  const head = `${bytes.toString(16)}\r\n`;
  const chunk = Buffer.allocUnsafeSlow(head.length + bytes + CHUNK_END.length);
  chunk.write(head, 'latin1');
  chunk.write(text, head.length, 'utf8');
  CHUNK_END.copy(chunk, head.length + bytes);
  return { bytes: chunk.subarray(head.length, head.length + bytes), chunk };
}

/**
 * Proxies in Node compress by default and then delay the pieces, except under `no-transform` (RFC 9111 §5.2.2.6).
 * nginx buffers by default.
 */
export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

const RETRY_MS = 1_000;

const SSE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  ...STREAM_HEADERS,
};

const SSE_COMPLETE = 'event: complete\ndata:\n\n';
/** EventSource reconnects after `complete`, too. A request with this id is told to stop. */
const END = `id: ${END_ID}\n${SSE_COMPLETE}`;

/** An EventSource takes id and retry time of a block without data but fires no event (HTML §9.2.6). */
function opening(id: string | undefined): string {
  return `retry: ${RETRY_MS}\n${id === undefined ? '' : `id: ${id}\n`}\n`;
}

/** Line breaks end a field (HTML §9.2.6). Unescaped line breaks in JSON are only whitespace between tokens. */
function onOneLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replaceAll(/[\r\n]+/g, '') : json;
}

function next(text: string, id: string | undefined): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: next\ndata: ${onOneLine(text)}\n\n`;
}

/** The format is the mode "distinct connections" of the protocol GraphQL over SSE. */
export const SSE: StreamFormat = {
  headers: () => SSE_HEADERS,
  opening: (id) => frame(opening(id)),
  events: (events) => frame(events.map(({ text, id }) => next(text, id)).join('')),
  heartbeat: frame(':\n\n'),
  visibleHeartbeat: (id) => frame(`id: ${id}\nevent: heartbeat\ndata: {}\n\n`),
  position: (id) => frame(`id: ${id}\n\n`),
  // Without an id, the client retains its last id.
  last: (text) => frame(`${next(text, undefined)}${SSE_COMPLETE}`),
  completion: frame(SSE_COMPLETE),
  // The client reconnects after the retry time, because `complete` is missing.
  interruption: frame(opening(undefined)),
  whole: (text, id) => `${opening(id)}${next(text, id)}${id === undefined ? END : SSE_COMPLETE}`,
};

const BOUNDARY = '--graphql';

const MULTIPART_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'multipart/mixed;boundary=graphql;subscriptionSpec=1.0',
  ...STREAM_HEADERS,
};

/**
 * Parsers look for the boundary on a separate line, which JSON cannot contain. Apollo iOS finds the boundary
 * anywhere.
 */
function withoutBoundary(json: string): string {
  return json.includes(BOUNDARY) ? json.replaceAll(BOUNDARY, '\\u002d-graphql') : json;
}

/** Parsers wait for the next boundary before they deliver a part. */
function part(json: string): string {
  return `\r\ncontent-type: application/json\r\n\r\n${json}\r\n${BOUNDARY}`;
}

function payload(text: string, id: string | undefined): string {
  return part(`{"payload":${withoutBoundary(id === undefined ? text : textWith(text, { eventId: id }))}}`);
}

const HEARTBEAT = part('{}');
const HEARTBEAT_FRAME = frame(HEARTBEAT);
/** The line break belongs to the boundary (RFC 2046 §5.1.1), and Apollo Client looks for it. */
const OPENING = `\r\n${BOUNDARY}${HEARTBEAT}`;
/** The suffix makes the last boundary the closing boundary. */
const MULTIPART_COMPLETE = '--\r\n';

/** The format is Apollo's multipart protocol for subscriptions, version 1.0. */
export const MULTIPART_FORMAT: StreamFormat = {
  headers: (id) => (id === undefined ? MULTIPART_HEADERS : { ...MULTIPART_HEADERS, 'x-event-id': id }),
  // The position is in the headers, because no part can carry it. A first part lets proxies pass the headers on.
  opening: () => frame(OPENING),
  events: (events) => frame(events.map(({ text, id }) => payload(text, id)).join('')),
  heartbeat: HEARTBEAT_FRAME,
  visibleHeartbeat: () => HEARTBEAT_FRAME,
  position: () => undefined,
  last: (text, id) => frame(`${payload(text, id)}${MULTIPART_COMPLETE}`),
  completion: frame(MULTIPART_COMPLETE),
  interruption: frame(HEARTBEAT),
  whole: (text, id) => `${OPENING}${payload(text, id)}${MULTIPART_COMPLETE}`,
};

export const STREAM_FORMATS: Readonly<Record<StreamType, StreamFormat>> = {
  'text/event-stream': SSE,
  [MULTIPART]: MULTIPART_FORMAT,
};
