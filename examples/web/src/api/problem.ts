/** An entry of `errors`. The codes are a closed set (docs/contract.md section 4). */
export interface ApiError {
  readonly message: string;
  readonly extensions?: { readonly code?: string; readonly argument?: string };
}

/** Why a request failed, in words for a person. */
export interface Problem {
  readonly kind:
    | 'unanswered'
    | 'signed-out'
    | 'rate-limited'
    | 'unavailable'
    | 'forbidden'
    | 'not-found'
    | 'conflict'
    | 'invalid'
    | 'unexpected';
  readonly message: string;
  /** The argument that is invalid. */
  readonly argument?: string;
  /** When to try again, in milliseconds as of `Date.now()`. */
  readonly retryAtMs?: number;
}

/** What is said while a request is repeated. The status is undefined if there was no response. */
export interface Pause {
  readonly untilMs: number;
  readonly status: number | undefined;
}

/** Thrown for every request that did not succeed. */
export class RequestFailed extends Error {
  readonly problem: Problem;
  /** True if the response has `data`: the service has executed the operation, and its outcome is known. */
  readonly wasExecuted: boolean;

  constructor(problem: Problem, wasExecuted = false) {
    super(problem.message);
    this.name = 'RequestFailed';
    this.problem = problem;
    this.wasExecuted = wasExecuted;
  }
}

/** `Retry-After` of this service is in seconds. */
export function retryAtOf(headers: Headers): { readonly retryAtMs?: number } {
  const seconds = Number(headers.get('retry-after') ?? 0);
  return seconds > 0 ? { retryAtMs: Date.now() + seconds * 1_000 } : {};
}

/** What is said of an answer that is not one of the service: of a proxy, or of a network that wants a password. */
export const strange = (status: number | undefined): string =>
  `This is not an answer of the service: something on the way has answered with status ${status}.`;

/** The problem that a response reports: its status first, then its first error. */
export function problemOf(status: number, headers: Headers, errors: readonly ApiError[]): Problem {
  const message = errors[0]?.message ?? strange(status);
  const code = errors[0]?.extensions?.code;
  if (status === 401)
    return { kind: 'signed-out', message: 'You are no longer signed in. Sign in to go on.' };
  if (status === 429) return { kind: 'rate-limited', message: 'Too many requests.', ...retryAtOf(headers) };
  if (status === 502 || status === 503 || status === 504)
    return { kind: 'unavailable', message: 'The service is busy or restarting.', ...retryAtOf(headers) };
  if (code === 'FORBIDDEN') return { kind: 'forbidden', message: `You may not do this. ${message}` };
  if (code === 'NOT_FOUND')
    return { kind: 'not-found', message: 'It does not exist. It may have been deleted.' };
  if (code === 'CONFLICT')
    return { kind: 'conflict', message: 'Nothing is saved: somebody has changed it since you read it.' };
  if (code !== 'BAD_USER_INPUT') return { kind: 'unexpected', message };
  const argument = errors[0]?.extensions?.argument;
  return { kind: 'invalid', message, ...(argument === undefined ? {} : { argument }) };
}

/** No response, one that broke off, or one that the browser withholds because CORS refuses the page's origin. */
export function unanswered(apiOrigin: string): Problem {
  if (!navigator.onLine) return { kind: 'unanswered', message: 'You are offline.' };
  const refused = apiOrigin === '' ? '' : `, or does not have ${location.origin} in CORS_ORIGINS`;
  return { kind: 'unanswered', message: `The service does not answer${refused}.` };
}

/** The failure that was caught. Errors of the page itself are passed on. */
export function failureIn(error: unknown): RequestFailed {
  if (error instanceof RequestFailed) return error;
  throw error;
}

export const problemIn = (error: unknown): Problem => failureIn(error).problem;
