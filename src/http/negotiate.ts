import { MULTIPART, type SingleType, type StreamType } from '../engine/documents/operation-request.ts';
import { memoize } from '../platform/cache.ts';

export interface Negotiated {
  readonly single: SingleType | undefined;
  readonly stream: StreamType | undefined;
  /** True if a web page is preferred over data, as by a browser's address bar. */
  readonly html: boolean;
}

const SINGLE: readonly SingleType[] = [
  'application/json',
  'application/graphql-response+json',
  'text/event-stream',
];

interface Range {
  readonly type: string;
  /** 0 excludes the type. */
  readonly quality: number;
  readonly index: number;
}

/** A separator in a quoted string does not separate (RFC 9110 §5.6.4). */
const MEMBERS = /(?:"(?:\\.|[^"\\])*"?|[^",])+/g;
const PIECES = /(?:"(?:\\.|[^"\\])*"?|[^";])+/g;

/** `multipart/mixed` must name its protocol. Other parameters make no difference. */
function typeOf(type: string, parameters: readonly string[]): string {
  const named = type === 'multipart/mixed' && parameters.some((it) => /^subscriptionspec="?1\.0"?$/.test(it));
  return named ? MULTIPART : type;
}

/** The syntax is in RFC 9110 §12.5.1. */
function ranges(accept: string): Range[] {
  return (accept.match(MEMBERS) ?? []).map((member, index) => {
    const pieces = (member.match(PIECES) ?? []).map((piece) => piece.trim().toLowerCase());
    const [type = '', ...parameters] = pieces;
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    const charset = parameters.find((parameter) => parameter.startsWith('charset='));
    const readable = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
    const quality = q === undefined ? 1 : Number(q.slice(2));
    return { type: typeOf(type, parameters), quality: readable && quality > 0 ? quality : 0, index };
  });
}

/** The most specific range applies to a type, regardless of its weight. */
function rangeFor(type: string, given: readonly Range[]): Range | undefined {
  const [family] = type.split('/');
  for (const name of [type, `${family}/*`, '*/*']) {
    const range = given.find((candidate) => candidate.type === name);
    if (range !== undefined) return range;
  }
  return undefined;
}

/** Types are ordered by weight, then by position in the header, then by position in the offer. */
function choose<T extends string>(given: readonly Range[], offer: readonly T[]): T | undefined {
  return offer
    .map((type) => ({ type, range: rangeFor(type, given) }))
    .flatMap(({ type, range }) => (range !== undefined && range.quality > 0 ? [{ type, range }] : []))
    .sort((a, b) => b.range.quality - a.range.quality || a.range.index - b.range.index)[0]?.type;
}

/**
 * A subscription can only have a stream type, so other accepted types are ignored. If no stream type is named, a
 * wildcard may select Server-Sent Events.
 */
function chooseStream(given: readonly Range[], single: SingleType | undefined): StreamType | undefined {
  const weight = (name: string) => given.find(({ type }) => type === name)?.quality;
  const events = weight('text/event-stream') ?? weight('text/*') ?? 0;
  const multipart = weight(MULTIPART) ?? 0;
  if (multipart > events) return MULTIPART;
  return events > 0 || single === 'text/event-stream' ? 'text/event-stream' : undefined;
}

/** A wildcard asks for no page, because curl sends a wildcard. */
const prefersHtml = (given: readonly Range[]): boolean =>
  given.some(({ type }) => type === 'text/html') &&
  choose(given, ['text/html', ...SINGLE, MULTIPART]) === 'text/html';

const negotiated = memoize((accept): Negotiated => {
  const given = ranges(accept);
  const single = choose(given, SINGLE);
  return { single, stream: chooseStream(given, single), html: prefersHtml(given) };
});

const UNASKED: Negotiated = { single: 'application/json', stream: undefined, html: false };

/** A missing header and wildcards mean JSON. */
export function negotiate(accept: string | null): Negotiated {
  return accept === null || accept.trim() === '' ? UNASKED : negotiated(accept);
}
