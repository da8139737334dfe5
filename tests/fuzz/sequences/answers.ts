import type { RawAnswer } from '../../support/keyed.ts';
import type { Problem, Result } from './state.ts';

const SHAPES: readonly [RegExp, RegExp][] = [
  [/^#id /, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/],
  [/^#secret /, /^cga_\w{30,}$/],
];

/** Whether a value is what was expected, member for member in that order. Notes what # strings stand for. */
function matches(expected: unknown, actual: unknown, known: Map<string, string>): boolean {
  if (typeof expected === 'string') {
    const shape = SHAPES.find(([unknown]) => unknown.test(expected))?.[1];
    if (shape === undefined) return expected === actual;
    if (typeof actual !== 'string' || !shape.test(actual)) return false;
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

interface Body {
  readonly data?: unknown;
  readonly errors?: readonly {
    readonly path?: readonly (string | number)[];
    readonly extensions: { readonly code: string; readonly argument?: string; readonly outcome?: string };
  }[];
}

/** The body of an answer. Throws where it is not JSON on one line without spaces. */
export function bodyOf({ text }: RawAnswer): Body {
  const body = JSON.parse(text) as Body;
  if (JSON.stringify(body) !== text) throw new Error(`the answer is not compact: ${text}`);
  return body;
}

/** Contract section 3: 403 exactly where `data` is null and every error is FORBIDDEN, and 401 for credentials. */
const STATUS: Readonly<Record<string, number>> = { FORBIDDEN: 403, UNAUTHENTICATED: 401 };
const statusOf = ({ code }: Problem) => STATUS[code] ?? 200;

/** What the # strings stand for where the answer is that of execution; undefined where it is not. */
export function matchesResult(result: Result, answer: RawAnswer): Map<string, string> | undefined {
  const { data, errors } = bodyOf(answer);
  const known = new Map<string, string>();
  if ('data' in result)
    return answer.status === 200 && errors === undefined && matches(result.data, data, known)
      ? known
      : undefined;
  const [error, ...others] = errors ?? [];
  const is = (problem: Problem) =>
    answer.status === statusOf(problem) &&
    error?.extensions.code === problem.code &&
    JSON.stringify(error.path) === JSON.stringify(problem.path) &&
    error.extensions.argument === problem.argument;
  return data === null && others.length === 0 && result.problems.some(is) ? known : undefined;
}

/** Whether the answer is a refusal with this status and code alone, and no replay. */
export function isRefusal(answer: RawAnswer, status: number, code: string): boolean {
  const { data, errors = [] } = bodyOf(answer);
  return (
    answer.status === status &&
    answer.replayed === null &&
    (data ?? null) === null &&
    errors.length > 0 &&
    errors.every(({ extensions }) => extensions.code === code)
  );
}

/** Contract section 9: whether an answer says that it cannot know what became of the mutation. */
export function isUnknown(answer: RawAnswer): boolean {
  if (!isRefusal(answer, 503, 'SERVICE_UNAVAILABLE')) return false;
  return bodyOf(answer).errors?.[0]?.extensions.outcome === 'unknown';
}

/** What may be said where servers are out of reach: nothing was changed, or, of keys in use, nobody knows yet. */
export function isOutage(answer: RawAnswer): boolean {
  return (
    isRefusal(answer, 503, 'SERVICE_UNAVAILABLE') ||
    isRefusal(answer, 504, 'TIMEOUT') ||
    isRefusal(answer, 409, 'IDEMPOTENCY_IN_PROGRESS')
  );
}
