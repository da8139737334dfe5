import type { ExpectedResponse, Statuses, Verdict } from '../case.ts';
import type { Reply } from './client.ts';
import { dataMismatch, errorsMismatch, shown } from './match.ts';
import { isStream, type Reading, read, readEvent } from './reading.ts';
import type { Way } from './ways.ts';

/** Something about a response that is not as the contract says. */
export interface Difference {
  /** What differs, in a word or two. */
  readonly kind: string;
  readonly expected: string;
  readonly got: string;
}

/** One of the things that may come back. */
interface Outcome {
  /** Undefined of a response: it follows from the errors that are told. */
  readonly status?: number;
  readonly result?: ExpectedResponse;
  /** Of a rejection. */
  readonly code?: string;
  /** Of a rejection: the arguments of which each error names one. */
  readonly oneOf?: readonly string[];
  readonly allow?: string;
  /** An event stream that goes on. */
  readonly opens?: boolean;
}

const STREAM = 'text/event-stream';
/** Contract section 2: in an event stream these are events. */
const EVENTS = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'DEPTH_LIMIT',
  'COMPLEXITY_LIMIT',
]);

function statusFor(statuses: Statuses, code: string, { accept }: Way): number {
  if (accept === STREAM && EVENTS.has(code)) return 200;
  return accept === undefined || accept === 'application/json' ? statuses.json : statuses.response;
}

/** What the contract lets come back, this way. */
function outcomesOf(verdict: Verdict, way: Way): readonly Outcome[] {
  const { response: result, rejections, kind, opens = false, lacks = false } = verdict;
  const rejected = rejections.map(({ code, status, oneOf }) => ({
    code,
    status: statusFor(status, code, way),
    ...(oneOf === undefined ? {} : { oneOf }),
  }));
  if (kind === 'mutation' && way.method === 'GET')
    return [{ status: 405, code: 'BAD_REQUEST', allow: 'POST' }, ...rejected];
  if (kind === 'subscription' && way.accept !== STREAM)
    return [{ status: 406, code: 'BAD_REQUEST' }, ...rejected];
  if (opens) return [{ status: 200, opens }, ...rejected];
  if (lacks && way.keyed) return [{ status: 403, code: 'FORBIDDEN' }, ...rejected];
  return result === undefined ? rejected : [{ result }, ...rejected];
}

function responseDifference(
  expected: ExpectedResponse,
  { json, data, errors }: Reading,
): Difference | undefined {
  if (data === undefined)
    return { kind: 'no data', expected: shown(expected.data), got: `a refusal: ${shown(errors)}` };
  const inData = dataMismatch(expected.data, data);
  if (inData !== undefined)
    return { kind: 'data', expected: shown(expected), got: `${inData}; in ${shown(json)}` };
  const inErrors = errorsMismatch(expected.errors, errors);
  return inErrors === undefined
    ? undefined
    : { kind: 'errors', expected: shown(expected.errors), got: `${inErrors}; in ${shown(json)}` };
}

/** Contract section 3: FORBIDDEN is the status where nothing else came back. */
const statusOf = ({ data, errors }: Reading) =>
  data === null && errors.every(({ code }) => code === 'FORBIDDEN') ? 403 : 200;

function outcomeDifference(
  outcome: Outcome,
  reply: Reply,
  reading: Reading | undefined,
): Difference | undefined {
  const { status, result, code, oneOf, allow, opens = false } = outcome;
  const wanted = shown({ status, code, data: result?.data });
  if (reading === undefined || opens) {
    const isOpen = reading === undefined && reply.status === 200;
    return isOpen === opens ? undefined : { kind: 'stream', expected: wanted, got: shown(reply.text) };
  }
  if (code !== undefined) {
    const isRejected = reading.data === undefined && reading.errors.every((error) => error.code === code);
    if (!isRejected || reading.errors.length === 0)
      return { kind: `not ${code}`, expected: wanted, got: shown(reply.text) };
  }
  if (oneOf !== undefined && !reading.errors.every(({ argument = '' }) => oneOf.includes(argument)))
    return { kind: 'argument', expected: `one of ${shown(oneOf)}`, got: shown(reading.errors) };
  const inResponse = result && responseDifference(result, reading);
  if (inResponse !== undefined) return inResponse;
  const due = status ?? statusOf(reading);
  if (reply.status !== due)
    return { kind: 'status', expected: String(due), got: `${reply.status} ${shown(reply.text)}` };
  if (allow === undefined || reply.headers.allow === allow) return undefined;
  return { kind: 'Allow', expected: allow, got: shown(reply.headers.allow) };
}

/** What is rejected as HTTP, before anything of GraphQL is looked at, may be told as plain JSON. */
function contentType({ accept }: Way, status: number): RegExp {
  if (accept === STREAM && status === 200) return /^text\/event-stream; charset=utf-8$/;
  if (accept !== 'application/graphql-response+json') return /^application\/json; charset=utf-8$/;
  return status === 401
    ? /^application\/(graphql-response\+)?json; charset=utf-8$/
    : /^application\/graphql-response\+json; charset=utf-8$/;
}

/** Contract section 2: a response that can be asked for again, over GET. */
function canBeAskedAgain({ kind }: Verdict, way: Way, status: number, reading: Reading | undefined): boolean {
  if (kind !== 'query' || way.method !== 'GET' || way.accept === STREAM || status !== 200) return false;
  return reading !== undefined && reading.errors.length === 0;
}

/** What a response says to caches. Answers by session are not stored. */
function cacheControl(again: boolean, { accept, cost }: Way, status: number): RegExp {
  if (accept === STREAM && status === 200) return /^no-store, no-transform$/;
  return again && !cost ? /^(?:private, no-cache|no-store)$/ : /^no-store$/;
}

/** The headers that each response of `/graphql` has, whatever it says. */
function headerDifferences(
  { headers, status }: Reply,
  way: Way,
  requestId: string,
  again: boolean,
): Difference[] {
  const expected = new Map<string, RegExp>([
    ['content-type', contentType(way, status)],
    ['cache-control', cacheControl(again, way, status)],
    ['etag', again ? /^"[\w-]+"$/ : /^$/],
    ['x-request-id', new RegExp(`^${requestId}$`)],
    ['x-ratelimit-limit', /^\d+$/],
    ['x-ratelimit-remaining', /^\d+$/],
    ['x-ratelimit-reset', /^\d+$/],
    ['ratelimit', /./],
    ['ratelimit-policy', /./],
  ]);
  if (status === 401) expected.set('www-authenticate', /./);
  if (status === 409 || status === 429) expected.set('retry-after', /^[1-9]\d*$/);
  return [...expected].flatMap(([name, pattern]) =>
    pattern.test(String(headers[name] ?? ''))
      ? []
      : [{ kind: name, expected: String(pattern), got: shown(headers[name]) }],
  );
}

/** What must stand in the response where its cost was asked for. */
function costDifference(
  { cost }: Verdict,
  way: Way,
  { status }: Pick<Reply, 'status'>,
  reading: Reading,
): Difference | undefined {
  if (!way.cost)
    return reading.cost === undefined
      ? undefined
      : { kind: 'cost', expected: 'none', got: shown(reading.cost) };
  if (cost === undefined || reading.data === undefined || status !== 200) return undefined;
  const { complexity, depth } = cost;
  const expected = { complexity, depth, maximumComplexity: 5_000, maximumDepth: 10 };
  const same = JSON.stringify(reading.cost) === JSON.stringify(expected);
  return same ? undefined : { kind: 'cost', expected: shown(expected), got: shown(reading.cost) };
}

/** Whether a stream was left open, as that of a subscription is. One that only rejects it begins with `next`. */
export const isLeft = ({ kind }: Verdict, reply: Reply): boolean =>
  kind === 'subscription' &&
  isStream(reply) &&
  reply.status === 200 &&
  !/^retry: \d+\n\nevent: next\n/.test(reply.text);

/** What of the event that a stream was left after is not as the verdict on it says. */
export function compareEvent(verdict: Verdict, way: Way, reply: Reply): readonly Difference[] {
  let reading: Reading;
  try {
    reading = readEvent(reply);
  } catch (error) {
    return [{ kind: 'event form', expected: 'an event on one line', got: `${error}: ${shown(reply.text)}` }];
  }
  const inResponse = verdict.response && responseDifference(verdict.response, reading);
  if (inResponse !== undefined) return [{ ...inResponse, kind: `event ${inResponse.kind}` }];
  const cost = costDifference(verdict, way, reply, reading);
  return cost === undefined ? [] : [cost];
}

/** What of a response is not as the verdict says. */
export function compare(verdict: Verdict, way: Way, reply: Reply, requestId: string): readonly Difference[] {
  const never = ['500', '502', '503', '504'].includes(String(reply.status));
  if (never)
    return [{ kind: 'server error', expected: 'no 5xx', got: `${reply.status} ${shown(reply.text)}` }];
  const leaves = isLeft(verdict, reply);
  let reading: Reading | undefined;
  try {
    reading = leaves ? undefined : read(reply);
  } catch (error) {
    return [{ kind: 'form', expected: 'compact JSON of GraphQL', got: `${error}: ${shown(reply.text)}` }];
  }
  if (leaves && !/^retry: \d+\nid: \S+\n\n/.test(reply.text))
    return [{ kind: 'stream', expected: 'an opening with an id', got: shown(reply.text) }];
  const outcomes = outcomesOf(verdict, way);
  const found = outcomes.map((outcome) => outcomeDifference(outcome, reply, reading));
  const differences = found.includes(undefined) ? [] : found.slice(0, 1);
  const cost = reading && costDifference(verdict, way, reply, reading);
  const again = canBeAskedAgain(verdict, way, reply.status, reading);
  return [...differences, cost, ...headerDifferences(reply, way, requestId, again)].filter(
    (it) => it !== undefined,
  );
}
