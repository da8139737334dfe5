/** Several lines of a field with one value are malformed, unless all of them are part of a list. */
type MalformedField =
  | 'ignored'
  | 'replaced'
  | 'rejected with 400'
  | 'rejected with 401'
  | 'rejected with 403'
  | 'rejected with 415'
  | 'reported on the stream';

export interface RequestField {
  /** A list has several members, in one line or in several (RFC 9110 §5.3). */
  readonly values: 'one' | 'list';
  readonly malformed: MalformedField;
  readonly pattern?: RegExp;
}

/**
 * Every field of a request that the service reads. Every recipient may join the lines of a field with commas
 * (RFC 9110 §5.3). A value of a field with one value may contain a comma only in a quoted string, because
 * otherwise a duplicated line would look like another value.
 */
export const REQUEST_FIELDS = {
  accept: { values: 'list', malformed: 'ignored' },
  'accept-encoding': { values: 'list', malformed: 'ignored' },
  'access-control-request-headers': { values: 'list', malformed: 'ignored' },
  authorization: { values: 'one', malformed: 'rejected with 401' },
  'content-encoding': { values: 'list', malformed: 'rejected with 415' },
  'content-type': { values: 'one', malformed: 'rejected with 415', pattern: /^[^,]*$/ },
  cookie: { values: 'list', malformed: 'ignored' },
  host: { values: 'one', malformed: 'rejected with 400' },
  /** The key is bare, or a string with only quotes and backslashes escaped (RFC 8941 §3.3.3). */
  'idempotency-key': {
    values: 'one',
    malformed: 'rejected with 400',
    pattern: /^(?:[!#-+\--~](?:[ -+\--~]*[!-+\--~])?|"(?:[ !#-[\]-~]|\\["\\])+")$/,
  },
  'if-none-match': { values: 'list', malformed: 'ignored' },
  'last-event-id': { values: 'one', malformed: 'reported on the stream' },
  origin: { values: 'one', malformed: 'rejected with 403' },
  'sec-fetch-dest': { values: 'one', malformed: 'rejected with 400' },
  'sec-fetch-site': { values: 'one', malformed: 'rejected with 403' },
  traceparent: { values: 'one', malformed: 'ignored' },
  'user-agent': { values: 'one', malformed: 'ignored' },
  'x-forwarded-for': { values: 'list', malformed: 'ignored' },
  'x-forwarded-proto': { values: 'list', malformed: 'ignored' },
  'x-show-cost': { values: 'one', malformed: 'ignored', pattern: /^1$/ },
  'x-request-id': { values: 'one', malformed: 'replaced', pattern: /^[ -+\--~]{1,128}$/ },
  'x-show-deprecations': { values: 'one', malformed: 'ignored', pattern: /^1$/ },
  'x-show-event-id': { values: 'one', malformed: 'ignored', pattern: /^1$/ },
} as const satisfies Record<string, RequestField>;

export type RequestFieldName = keyof typeof REQUEST_FIELDS;

export interface RequestFields {
  get(name: RequestFieldName): string | null;
  has(name: string): boolean;
  keys(): Iterable<string>;
}

type PatternedField = {
  [Name in RequestFieldName]: (typeof REQUEST_FIELDS)[Name] extends { pattern: RegExp } ? Name : never;
}[RequestFieldName];

/** @returns the trimmed value, or undefined if the field is absent or malformed */
export function readField(headers: Pick<RequestFields, 'get'>, name: PatternedField): string | undefined {
  const value = headers.get(name)?.trim();
  return value !== undefined && REQUEST_FIELDS[name].pattern.test(value) ? value : undefined;
}
