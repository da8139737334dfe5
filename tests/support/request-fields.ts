import { expect } from 'vitest';
import type { RequestFieldName } from '../../src/platform/request-fields.ts';

/** A request with its header lines in the order in which they are sent. */
export interface LinesRequest {
  readonly method: 'GET' | 'POST' | 'OPTIONS';
  readonly target: string;
  readonly lines: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
}

export interface LinesResponse {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Values of the service that the lines need. */
export interface FieldValues {
  readonly key: string;
  readonly cookie: string;
  readonly eventId: string;
  readonly etag: string;
}

interface FieldCase {
  /** Lines of the field. */
  readonly lines: (values: FieldValues) => readonly string[];
  /** Other parts of the request; a query with an API key by default. */
  readonly request?: (values: FieldValues) => Partial<LinesRequest>;
  /** True if a proxy replaces the field, so that only the service's own socket sees the lines. */
  readonly direct?: boolean;
  readonly expected: Readonly<Record<string, unknown>>;
}

export const CORS_ORIGIN = 'https://app.example.com';
const QUERY = '{ __schema { types { name description } } }';
/** The cases of fields that reach the service through a proxy. */
export const proxiedFields = (): RequestFieldName[] =>
  (Object.keys(FIELD_CASES) as RequestFieldName[]).filter((name) => FIELD_CASES[name].direct !== true);

export const QUERY_TARGET = `/graphql?query=${encodeURIComponent('{ viewer { id } }')}`;
const STREAM_TARGET = `/graphql?query=${encodeURIComponent('subscription { postCreated { id } }')}`;
export const MUTATION = 'mutation { createPost(title: "t", body: "b") { id } }';

const twice = (value: string) => () => [value, value];
const json = ['content-type', 'application/json'] as const;
const body = JSON.stringify({ query: MUTATION });
const withCookie = ({ cookie }: FieldValues): Partial<LinesRequest> => ({
  lines: [json, ['cookie', cookie]],
  body,
});
const mutation = ({ key }: FieldValues): Partial<LinesRequest> => ({
  lines: [json, ['authorization', `Bearer ${key}`]],
  body,
});
const get = (target: string) => (): Partial<LinesRequest> => ({ method: 'GET', target });
const code = (name: string) => expect.stringContaining(`"code":"${name}"`);
const withoutExtensions = { status: 200, body: expect.not.stringContaining('"extensions"') };

/** For each field, several lines and the response that shows their meaning. */
export const FIELD_CASES: Readonly<Record<RequestFieldName, FieldCase>> = {
  accept: {
    lines: () => ['text/html;q=0.1', 'application/graphql-response+json'],
    expected: { headers: { 'content-type': 'application/graphql-response+json; charset=utf-8' } },
  },
  'accept-encoding': {
    lines: () => ['identity;q=0.1', 'gzip'],
    expected: { headers: { 'content-encoding': 'gzip' } },
  },
  'access-control-request-headers': {
    lines: () => ['x-first', 'x-second'],
    request: () => ({ method: 'OPTIONS', lines: [['origin', CORS_ORIGIN]] }),
    expected: { headers: { 'access-control-allow-headers': expect.stringMatching(/x-first, x-second$/) } },
  },
  authorization: {
    lines: ({ key }) => [`Bearer ${key}`, `Bearer ${key}`],
    request: () => ({ lines: [json] }),
    expected: { status: 401, body: code('UNAUTHENTICATED') },
  },
  'content-encoding': { lines: () => ['identity', 'gzip'], expected: { status: 415 } },
  'content-type': {
    lines: twice('application/json'),
    request: ({ key }) => ({ lines: [['authorization', `Bearer ${key}`]] }),
    expected: { status: 415 },
  },
  cookie: {
    lines: ({ cookie }) => ['theme=dark', cookie],
    request: () => ({ ...get(QUERY_TARGET)(), lines: [] }),
    expected: { status: 200, body: expect.stringContaining('"viewer":{') },
  },
  host: { lines: twice('localhost'), direct: true, expected: { status: 400, body: code('BAD_REQUEST') } },
  'idempotency-key': {
    lines: twice('key'),
    request: mutation,
    expected: { status: 400, body: code('BAD_REQUEST') },
  },
  'if-none-match': {
    lines: ({ etag }) => ['"other"', etag],
    request: get(QUERY_TARGET),
    expected: { status: 304 },
  },
  'last-event-id': {
    lines: ({ eventId }) => [eventId, eventId],
    request: ({ key }) => ({
      ...get(STREAM_TARGET)(),
      lines: [
        ['accept', 'text/event-stream'],
        ['authorization', `Bearer ${key}`],
      ],
    }),
    expected: { status: 200, body: code('BAD_USER_INPUT') },
  },
  origin: { lines: twice(CORS_ORIGIN), request: withCookie, expected: { status: 403 } },
  'sec-fetch-dest': { lines: twice('document'), request: get('/account'), expected: { status: 400 } },
  'sec-fetch-site': { lines: twice('same-origin'), request: withCookie, expected: { status: 403 } },
  traceparent: {
    lines: twice('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
    expected: { status: 200 },
  },
  'user-agent': { lines: twice('agent'), expected: { status: 200 } },
  'x-forwarded-for': { lines: () => ['192.0.2.1', '192.0.2.2'], direct: true, expected: { status: 200 } },
  'x-forwarded-proto': { lines: () => ['http', 'https'], direct: true, expected: { status: 200 } },
  'x-show-cost': { lines: twice('1'), expected: withoutExtensions },
  'x-request-id': {
    lines: twice('mine'),
    direct: true,
    expected: { headers: { 'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/) } },
  },
  'x-show-deprecations': { lines: twice('1'), expected: withoutExtensions },
  'x-show-event-id': { lines: twice('1'), request: get(QUERY_TARGET), expected: withoutExtensions },
};

/** Sends requests to learn the values that the cases need. */
export async function fieldValues(
  { key, cookie }: Pick<FieldValues, 'key' | 'cookie'>,
  send: (request: LinesRequest) => Promise<LinesResponse>,
): Promise<FieldValues> {
  const authorization = ['authorization', `Bearer ${key}`] as const;
  const ask = (...lines: LinesRequest['lines']) =>
    send({ method: 'GET', target: QUERY_TARGET, lines: [authorization, ...lines] });
  const { extensions } = JSON.parse((await ask(['x-show-event-id', '1'])).body);
  const { headers } = await ask();
  return { key, cookie, eventId: extensions.eventId, etag: headers.etag ?? '' };
}

/** The request of a case: its field has several lines. */
export function requestWith(name: RequestFieldName, values: FieldValues): LinesRequest {
  const { lines, request = () => ({}) } = FIELD_CASES[name];
  const given: Omit<LinesRequest, 'lines'> & Partial<LinesRequest> = {
    method: 'POST',
    target: '/graphql',
    body: JSON.stringify({ query: QUERY }),
    ...request(values),
  };
  const others = given.lines ?? [json, ['authorization', `Bearer ${values.key}`] as const];
  return { ...given, lines: [...others, ...lines(values).map((value) => [name, value] as const)] };
}
