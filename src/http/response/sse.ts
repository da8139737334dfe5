import type { StreamFormat } from '../../request/event-stream.ts';
import { END_ID } from '../../request/last-event-id.ts';
import { frame } from './frame.ts';
import { STREAM_HEADERS } from './stream-headers.ts';

const RETRY_MS = 1_000;

const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  ...STREAM_HEADERS,
};

const COMPLETE = 'event: complete\ndata:\n\n';
/** EventSource reconnects after `complete`, too. With this id it is told to stop. */
const END = `id: ${END_ID}\n${COMPLETE}`;

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

function next(text: string, id: string | undefined): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: next\ndata: ${onOneLine(text)}\n\n`;
}

/** Server-Sent Events in the "distinct connections" mode of the GraphQL-over-SSE protocol. */
export const SSE: StreamFormat = {
  headers: () => HEADERS,
  opening: (id) => frame(opening(id)),
  events: (events) => frame(events.map(({ text, id }) => next(text, id)).join('')),
  heartbeat: frame(':\n\n'),
  visibleHeartbeat: (id) => frame(`id: ${id}\nevent: heartbeat\ndata: {}\n\n`),
  // EventSource takes the id of a block without data, and fires no event (HTML section 9.2.6).
  position: (id) => frame(`id: ${id}\n\n`),
  // Without an id the client keeps the one that it has.
  last: (text) => frame(`${next(text, undefined)}${COMPLETE}`),
  // Without `complete`, and with the time to wait before reconnecting.
  interruption: frame(opening(undefined)),
  whole: (text, id) => `${opening(id)}${next(text, id)}${id === undefined ? END : COMPLETE}`,
};
