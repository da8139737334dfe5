import type { EventText, Frame, StreamFormat } from '../../request/event-stream.ts';

const RETRY_MS = 1_000;

/** Headers of every event stream. */
export const SSE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // nginx buffers responses by default, which would delay events.
  'x-accel-buffering': 'no',
};

const COMPLETE = 'event: complete\ndata:\n\n';

/** A block without data: EventSource takes its id and retry time but fires no event (HTML section 9.2.6). */
function opening(id: string | undefined): string {
  return `retry: ${RETRY_MS}\n${id === undefined ? '' : `id: ${id}\n`}\n`;
}

/**
 * Line breaks end a field (HTML section 9.2.6). Unescaped ones in JSON are only whitespace between tokens.
 */
function onOneLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replaceAll(/[\r\n]+/g, '') : json;
}

function next({ id, text }: EventText): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: next\ndata: ${onOneLine(text)}\n\n`;
}

const CHUNK_END = Buffer.from('\r\n');

/** A frame, as bytes that lie between the head and the end of a chunk (RFC 9112 section 7.1). */
function frame(text: string): Frame {
  const bytes = Buffer.byteLength(text);
  const head = `${bytes.toString(16)}\r\n`;
  const chunk = Buffer.allocUnsafeSlow(head.length + bytes + CHUNK_END.length);
  chunk.write(head, 'latin1');
  chunk.write(text, head.length, 'utf8');
  CHUNK_END.copy(chunk, head.length + bytes);
  return { bytes: chunk.subarray(head.length, head.length + bytes), chunk };
}

/** Server-Sent Events in the "distinct connections" mode of the GraphQL-over-SSE protocol. */
export const SSE: StreamFormat = {
  headers: SSE_HEADERS,
  opening: (id) => frame(opening(id)),
  events: (events) => frame(events.map(next).join('')),
  heartbeat: frame(':\n\n'),
  complete: frame(COMPLETE),
  // Without `complete`, and with the time to wait before reconnecting.
  interruption: frame(opening(undefined)),
};

/** A whole stream with one event. */
export function sseText(event: EventText, startId: string | undefined): string {
  return `${opening(startId)}${next(event)}${COMPLETE}`;
}
