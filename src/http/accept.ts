/** What this service can answer a GraphQL request with. */
export type MediaType = 'application/json' | 'application/graphql-response+json' | 'text/event-stream';

const OFFERED: readonly MediaType[] = [
  'application/json',
  'application/graphql-response+json',
  'text/event-stream',
];

interface Range {
  readonly type: string;
  readonly quality: number;
}

/** The media ranges of an Accept header, most wanted first (RFC 9110 section 12.5.1). */
function ranges(accept: string): Range[] {
  return accept
    .split(',')
    .map((part) => {
      const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
      const q = parameters.find((parameter) => parameter.startsWith('q='));
      const charset = parameters.find((parameter) => parameter.startsWith('charset='));
      const readable = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
      const quality = q === undefined ? 1 : Number(q.slice(2));
      return { type, quality: readable && quality > 0 ? quality : 0 };
    })
    .filter(({ type, quality }) => type !== '' && quality > 0)
    .sort((a, b) => b.quality - a.quality);
}

/** The media type to answer with; undefined where none is acceptable. No header and wildcards mean JSON. */
export function negotiate(accept: string | null): MediaType | undefined {
  if (accept === null || accept.trim() === '') return 'application/json';
  for (const { type } of ranges(accept)) {
    if (type === '*/*' || type === 'application/*') return 'application/json';
    if (type === 'text/*') return 'text/event-stream';
    const offered = OFFERED.find((media) => media === type);
    if (offered !== undefined) return offered;
  }
  return undefined;
}

/** Whether the header asks for a web page rather than data: a browser's address bar does. */
export function wantsHtml(accept: string | null): boolean {
  return accept !== null && ranges(accept).some(({ type }) => type === 'text/html');
}
