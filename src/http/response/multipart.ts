import { textWith } from '../../operation/outcome.ts';
import type { StreamFormat } from '../../request/event-stream.ts';
import { frame } from './frame.ts';
import { STREAM_HEADERS } from './stream-headers.ts';

const BOUNDARY = '--graphql';

const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'multipart/mixed;boundary=graphql;subscriptionSpec=1.0',
  ...STREAM_HEADERS,
};

/**
 * Parsers look for the boundary on a line of its own, where JSON cannot have it. Apollo's for iOS finds it
 * anywhere.
 */
function withoutBoundary(json: string): string {
  return json.includes(BOUNDARY) ? json.replaceAll(BOUNDARY, '\\u002d-graphql') : json;
}

/** A part and the boundary after it: parsers wait for that before they hand a part on. */
function part(json: string): string {
  return `\r\ncontent-type: application/json\r\n\r\n${json}\r\n${BOUNDARY}`;
}

function payload(text: string, id: string | undefined): string {
  return part(`{"payload":${withoutBoundary(id === undefined ? text : textWith(text, { eventId: id }))}}`);
}

const HEARTBEAT = part('{}');
const HEARTBEAT_FRAME = frame(HEARTBEAT);
/** The line break belongs to the boundary (RFC 2046 section 5.1.1): Apollo Client looks for it. */
const OPENING = `\r\n${BOUNDARY}${HEARTBEAT}`;
/** Makes the last boundary the closing one. */
const COMPLETE = '--\r\n';

/** Apollo's multipart protocol for subscriptions, version 1.0. */
export const MULTIPART_FORMAT: StreamFormat = {
  headers: (id) => (id === undefined ? HEADERS : { ...HEADERS, 'x-event-id': id }),
  // Its position is in the headers: there is no part for it. A first part lets proxies pass the headers on.
  opening: () => frame(OPENING),
  events: (events) => frame(events.map(({ text, id }) => payload(text, id)).join('')),
  heartbeat: HEARTBEAT_FRAME,
  visibleHeartbeat: () => HEARTBEAT_FRAME,
  position: () => undefined,
  last: (text, id) => frame(`${payload(text, id)}${COMPLETE}`),
  // Without the closing boundary.
  interruption: frame(HEARTBEAT),
  whole: (text, id) => `${OPENING}${payload(text, id)}${COMPLETE}`,
};
