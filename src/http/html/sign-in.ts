import { GraphQLError } from 'graphql';
import type { LoggedIn, Login } from '../../auth/login.ts';
import { toErrorResponse } from '../../engine/core/mask-error.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log/log.ts';
import type { LocatedRequest, ReceivedRequest } from '../exchange.ts';
import type { HttpRequest } from '../message.ts';
import { WAIT_AS_TOLD } from '../rate-limit/limiter.ts';
import { type Html, type HtmlPageOptions, html } from './page.ts';

export interface SignInForm {
  readonly action: string;
  /** The email address was entered before or is suggested. */
  readonly email: string;
  readonly problem?: string | undefined;
}

export const SIGN_IN = 'sign-in';

export const alertOf = (problem: string | undefined) =>
  problem !== undefined && html`<p class="problem" id="problem" role="alert">${problem}</p>`;

export function signInForm({ action, email, problem }: SignInForm): Html {
  const described = problem !== undefined && html` aria-describedby="problem"`;
  const focused = html` autofocus`;
  return html`${alertOf(problem)}
<form id="${SIGN_IN}" method="post" action="${action}">
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${email}"${described}${email === '' && focused}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${described}${email !== '' && focused}>
</form>`;
}

export interface FailedSignIn extends Pick<HtmlPageOptions, 'status' | 'headers' | 'errorCodes'> {
  readonly problem: string;
}

/** People have no idempotency keys to retry with. */
const UNKNOWN =
  'The database connection was lost, so the change may have been saved. Check before you try again.';

export const WRONG: FailedSignIn = {
  problem: 'The email address or the password is wrong. Check both and try again.',
  status: 401,
  headers: { 'www-authenticate': 'Bearer' },
};

/** `wait` is in whole seconds. */
export const tooManyAttempts = (wait: string) => ({
  problem: `Too many failed attempts. Try again in ${wait} seconds.`,
  status: 429,
  headers: { 'retry-after': wait },
});

interface ShownProblem extends Required<FailedSignIn> {
  readonly argument?: string | undefined;
}

/** Throws errors that are neither rejections nor errors of the API. */
export function problemOf(error: unknown, { requestId }: ReceivedRequest, log: Logger): ShownProblem {
  if (!(error instanceof ApiError || error instanceof GraphQLError)) throw error;
  const { code, status, headers, message } = toErrorResponse(error, { requestId, log });
  const { argument, outcome } = error.extensions;
  const problem = message.replace(WAIT_AS_TOLD, `Try again in ${headers['retry-after']} seconds.`);
  return {
    problem: outcome === 'unknown' ? UNKNOWN : problem,
    status,
    headers,
    errorCodes: [code],
    argument: typeof argument === 'string' ? argument : undefined,
  };
}

export async function signInBy(
  form: URLSearchParams,
  request: HttpRequest,
  located: LocatedRequest,
  { login, log }: { readonly login: Login; readonly log: Logger },
): Promise<LoggedIn | FailedSignIn> {
  try {
    const loggedIn = await login({
      email: form.get('email') ?? '',
      password: form.get('password') ?? '',
      origin: located,
      userAgent: request.headers.get('user-agent'),
    });
    return loggedIn ?? WRONG;
  } catch (error) {
    return problemOf(error, located, log);
  }
}
