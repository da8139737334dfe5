/**
 * Every field of a request that the service reads, with the form of a valid value, or null if other code
 * parses it. Every recipient may join the lines of a field with commas (RFC 9110 §5.3). A value of a field with
 * one value may contain a comma only in a quoted string, because otherwise a duplicated line would look like
 * another value.
 */
export const REQUEST_FIELDS = {
  accept: null,
  'accept-encoding': null,
  'access-control-request-headers': null,
  authorization: null,
  'content-encoding': null,
  'content-type': /^[^,]*$/,
  cookie: null,
  host: null,
  /** The key is bare, or a string with only quotes and backslashes escaped (RFC 8941 §3.3.3). */
  'idempotency-key': /^(?:[!#-+\--~](?:[ -+\--~]*[!-+\--~])?|"(?:[ !#-[\]-~]|\\["\\])+")$/,
  'if-none-match': null,
  'last-event-id': null,
  origin: null,
  'sec-fetch-dest': null,
  'sec-fetch-site': null,
  traceparent: null,
  'user-agent': null,
  'x-forwarded-for': null,
  'x-forwarded-proto': null,
  'x-show-cost': /^1$/,
  'x-request-id': /^[ -+\--~]{1,128}$/,
  'x-show-deprecations': /^1$/,
  'x-show-event-id': /^1$/,
} as const satisfies Record<string, RegExp | null>;

export type RequestFieldName = keyof typeof REQUEST_FIELDS;

export interface RequestFields {
  get(name: RequestFieldName): string | null;
  has(name: string): boolean;
  keys(): Iterable<string>;
}

type PatternedField = {
  [Name in RequestFieldName]: (typeof REQUEST_FIELDS)[Name] extends RegExp ? Name : never;
}[RequestFieldName];

/** @returns the trimmed value, or undefined if the field is absent or malformed */
export function readField(headers: Pick<RequestFields, 'get'>, name: PatternedField): string | undefined {
  const value = headers.get(name)?.trim();
  return value !== undefined && REQUEST_FIELDS[name].test(value) ? value : undefined;
}
