import type { RawResponse } from '../support/keyed.ts';
import type { Executed, ExpectedError } from './execution.ts';
import { isMade, MADE_TEXT } from './state.ts';

const SHAPES: readonly [RegExp, RegExp][] = [
  [new RegExp(`^${MADE_TEXT} id `), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/],
  [new RegExp(`^${MADE_TEXT} slug `), /^[a-z0-9]([a-z0-9-]{0,78}[a-z0-9])?$/],
  [new RegExp(`^${MADE_TEXT} secret `), /^cga_\w{30,}$/],
];

/** Whether a value is what was expected, member for member in that order. Notes what made up texts stand for. */
function matches(expected: unknown, actual: unknown, known: Map<string, string>): boolean {
  if (isMade(expected)) {
    const shape = SHAPES.find(([made]) => made.test(expected))?.[1];
    if (typeof actual !== 'string' || shape?.test(actual) !== true) return false;
    const before = known.get(expected);
    known.set(expected, actual);
    return before === undefined || before === actual;
  }
  if (expected === null || typeof expected !== 'object') return expected === actual;
  if (actual === null || typeof actual !== 'object') return false;
  const [left, right] = [Object.entries(expected), Object.entries(actual)];
  return (
    Array.isArray(expected) === Array.isArray(actual) &&
    left.length === right.length &&
    left.every(([name, value], index) => right[index]?.[0] === name && matches(value, right[index][1], known))
  );
}

interface ToldError {
  readonly path?: readonly (string | number)[];
  readonly extensions: { readonly code: string; readonly argument?: string; readonly outcome?: string };
}

interface Body {
  readonly data?: unknown;
  readonly errors?: readonly ToldError[];
}

/** The body of a response. Throws where it is not JSON on one line without spaces. */
export function bodyOf({ text }: RawResponse): Body {
  const body = JSON.parse(text) as Body;
  if (JSON.stringify(body) !== text) throw new Error(`the answer is not compact: ${text}`);
  return body;
}

const isTold = ({ code, path, argument }: ExpectedError, told: ToldError) =>
  told.extensions.code === code &&
  told.extensions.argument === argument &&
  JSON.stringify(told.path) === JSON.stringify(path);

/** Contract section 3: 403 exactly where `data` is null and every error is FORBIDDEN, and 401 for credentials. */
const STATUS: Readonly<Record<string, number>> = { FORBIDDEN: 403, UNAUTHENTICATED: 401 };

/** What made up texts stand for where the response is that of execution; undefined where it is not. */
export function matchesExecuted(
  { data, errors: places }: Pick<Executed, 'data' | 'errors'>,
  response: RawResponse,
): Map<string, string> | undefined {
  const body = bodyOf(response);
  const told = body.errors ?? [];
  const [first, ...others] = new Set(told.map(({ extensions }) => extensions.code));
  const status = (body.data === null && others.length === 0 && STATUS[first ?? '']) || 200;
  const isRight =
    response.status === status &&
    (body.errors === undefined) === (places.length === 0) &&
    told.length === places.length &&
    places.every(({ oneOf }) => told.some((error) => oneOf.some((one) => isTold(one, error))));
  const known = new Map<string, string>();
  return isRight && matches(data, body.data, known) ? known : undefined;
}

/** Whether the response is a rejection with this status and code alone, and no replay. */
export function isRejection(response: RawResponse, status: number, code: string): boolean {
  const { data, errors = [] } = bodyOf(response);
  return (
    response.status === status &&
    response.replayed === null &&
    (data ?? null) === null &&
    errors.length > 0 &&
    errors.every(({ extensions }) => extensions.code === code)
  );
}
