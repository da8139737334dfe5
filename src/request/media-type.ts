import { remember } from '../platform/remember.ts';

/** The media types of GraphQL responses. */
export type MediaType = 'application/json' | 'application/graphql-response+json' | 'text/event-stream';

const OFFERED: readonly MediaType[] = [
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

/** The media ranges of an Accept header (RFC 9110 section 12.5.1). */
function ranges(accept: string): Range[] {
  return accept.split(',').map((part, index) => {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    const charset = parameters.find((parameter) => parameter.startsWith('charset='));
    const readable = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
    const quality = q === undefined ? 1 : Number(q.slice(2));
    return { type, quality: readable && quality > 0 ? quality : 0, index };
  });
}

/** The range that applies to a type: the most specific one, whatever its weight. */
function rangeFor(type: string, given: readonly Range[]): Range | undefined {
  const [family] = type.split('/');
  for (const name of [type, `${family}/*`, '*/*']) {
    const range = given.find((candidate) => candidate.type === name);
    if (range !== undefined) return range;
  }
  return undefined;
}

/** The preferred type: by weight, then by position in the header, then by position in the offer. */
function choose<T extends string>(given: readonly Range[], offer: readonly T[]): T | undefined {
  return offer
    .map((type) => ({ type, range: rangeFor(type, given) }))
    .flatMap(({ type, range }) => (range !== undefined && range.quality > 0 ? [{ type, range }] : []))
    .sort((a, b) => b.range.quality - a.range.quality || a.range.index - b.range.index)[0]?.type;
}

const chosen = remember((accept) => choose(ranges(accept), OFFERED));

/** The media type of the response; undefined if none is acceptable. No header and wildcards mean JSON. */
export function negotiate(accept: string | null): MediaType | undefined {
  if (accept === null || accept.trim() === '') return 'application/json';
  return chosen(accept);
}

/** Whether a web page is preferred over data, as by the address bar of a browser. */
export function wantsHtml(accept: string | null): boolean {
  if (accept === null) return false;
  const given = ranges(accept);
  // A wildcard does not ask for a page: curl sends one.
  return (
    given.some(({ type }) => type === 'text/html') && choose(given, ['text/html', ...OFFERED]) === 'text/html'
  );
}
