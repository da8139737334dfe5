import type { Random } from '../../support/random.ts';

type Fields = Readonly<Record<string, string>>;

/** Somebody who asks, with what tells who it is. */
export interface Asker {
  readonly name: string;
  readonly headers: Fields;
  readonly parameters: Fields;
}

/** A request but for what makes it conditional. */
export interface Asked {
  readonly asker: Asker;
  readonly parameters: Fields;
  readonly headers: Fields;
}

/** A request as it is sent. */
export interface Sending extends Asked {
  readonly head: boolean;
  /** What If-None-Match has: nothing, the validator of the response, or of another. */
  readonly known: 'nothing' | 'this' | 'weak' | 'other' | 'any';
}

const ACCEPTS = [
  'application/json',
  'application/graphql-response+json',
  'application/graphql-response+json, application/json;q=0.9',
  'text/event-stream',
  'text/html',
  'image/png',
];
const CODINGS = ['gzip', 'br', 'zstd', 'gzip, deflate, br, zstd', 'identity', 'identity;q=0, *', 'gzip;q=0'];
const KNOWN = ['this', 'weak', 'other', 'any'] as const;

const oneIn = (random: Random, many: number) => random.below(many) === 0;

const showsEventId = (headers: Fields) => headers['x-show-event-id'] === '1';
const withoutEventId = (body: string) => body.replace(/"eventId":"[\w-]+"/, '"eventId":""');

export interface Choices {
  readonly askers: readonly Asker[];
  /** Whoever has no credentials, in the ways there are: they ask most of the time. */
  readonly strangers: readonly Asker[];
  readonly operations: readonly Fields[];
  readonly origins: readonly string[];
}

/** Draws a request. Each of its parts is what most requests have more often than not, so that many ask the same. */
export function drawRequest(random: Random, { askers, strangers, operations, origins }: Choices): Sending {
  const headers: Record<string, string> = {};
  if (oneIn(random, 6)) headers.accept = random.pick(ACCEPTS);
  if (oneIn(random, 4)) headers['accept-encoding'] = random.pick(CODINGS);
  if (oneIn(random, 8)) headers.origin = random.pick(origins);
  if (oneIn(random, 30)) headers['x-show-cost'] = random.pick(['0', '1']);
  if (oneIn(random, 30)) headers['x-show-event-id'] = random.pick(['0', '1']);
  return {
    asker: random.pick(oneIn(random, 3) ? askers : strangers),
    parameters: random.pick(operations),
    headers,
    head: oneIn(random, 8),
    // A response with an event id has another one whenever something was written, such as the last use of a key.
    known: showsEventId(headers) || !oneIn(random, 3) ? 'nothing' : random.pick(KNOWN),
  };
}

export const addressOf = ({ asker, parameters }: Asked): string =>
  `/graphql?${new URLSearchParams({ ...parameters, ...asker.parameters })}`;

export const nameOf = (asked: Asked): string =>
  JSON.stringify([addressOf(asked), asked.asker.name, asked.headers]);

/** A response, decoded. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** What of a response is the same whoever brings it. */
const COMPARED = [
  'content-type',
  'content-encoding',
  'etag',
  'cache-control',
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-expose-headers',
  'x-content-type-options',
  'set-cookie',
  'vary',
  'www-authenticate',
  'allow',
] as const;
const LIMITS = ['x-ratelimit-remaining', 'ratelimit', 'retry-after'] as const;

/** The If-None-Match of a request, if the service gave this answer before. */
export function conditionOf({ known }: Sending, { headers }: Reply): string | undefined {
  if (known === 'nothing') return undefined;
  if (known === 'any') return '*';
  if (known === 'other' || headers.etag === undefined) return '"another", W/"one"';
  return known === 'weak' ? `"another", W/${headers.etag}` : headers.etag;
}

const isMet = ({ known }: Sending, { headers }: Reply) =>
  headers.etag !== undefined && (known === 'this' || known === 'weak' || known === 'any');

const isPublic = ({ headers }: Reply) => headers['cache-control']?.startsWith('public') === true;
const asksForMore = ({ headers }: Sending) => Object.keys(headers).some((name) => /^x-/.test(name));
const isBySession = ({ asker }: Sending) => asker.headers.cookie?.includes('session_id=') === true;

/** A session's answer is the page's own to keep where it asks for a 304 (contract: transport). */
const cacheControlOf = (sending: Sending, { headers }: Reply, maybeWhole: boolean) =>
  isBySession(sending) &&
  headers.etag !== undefined &&
  sending.known !== 'nothing' &&
  !maybeWhole &&
  !asksForMore(sending)
    ? 'private, no-cache'
    : headers['cache-control'];

/** What is wrong with a response that any cache may give to anybody. */
function wronglyPublic(sending: Sending, { status, body, headers }: Reply): string[] {
  const { asker } = sending;
  const isOfSomebody = asker.headers.authorization !== undefined || isBySession(sending);
  const wrong: string[] = [];
  if (isOfSomebody || Object.keys(asker.parameters).length > 0)
    wrong.push('an answer to credentials is public');
  if ((status !== 200 && status !== 304) || body.includes('"errors"')) wrong.push('an error is public');
  if (asksForMore(sending)) wrong.push('what else was asked for is public');
  for (const name of LIMITS) if (headers[name] !== undefined) wrong.push(`${name} is public`);
  if (!/^[\da-f-]{36}$/.test(headers['x-request-id'] ?? '')) wrong.push('the id of a request is public');
  return wrong;
}

/**
 * What of a response that came through the cache is not as the service gives it to this caller; `whole` is that, asked for
 * directly and without a condition. `id` is that of the request. `maybeWhole` is whether the cache may answer a condition
 * with the whole.
 */
export function differences(
  sending: Sending,
  whole: Reply,
  got: Reply,
  id: string,
  maybeWhole: boolean,
): string[] {
  const met = isMet(sending, whole);
  const found: string[] = [];
  const expect = (what: string, wanted: unknown, is: unknown) => {
    if (wanted !== is) found.push(`${what}: ${JSON.stringify(wanted)} became ${JSON.stringify(is)}`);
  };
  const short = met && !(maybeWhole && got.status === 200);
  expect('status', short ? 304 : whole.status, got.status);
  expect('body', sending.head || short ? '' : withoutEventId(whole.body), withoutEventId(got.body));
  for (const name of COMPARED) {
    if (short && name.startsWith('content-')) continue;
    if (name === 'etag' && showsEventId(sending.headers)) continue;
    const due = name === 'cache-control' ? cacheControlOf(sending, whole, maybeWhole) : whole.headers[name];
    expect(name, due, got.headers[name]);
  }
  if (isPublic(got)) found.push(...wronglyPublic(sending, got));
  else expect('x-request-id', id, got.headers['x-request-id']);
  return found;
}
