import type { LoggedIn, Login } from '../../auth/session/login.ts';
import { ApiError } from '../../graphql/errors.ts';
import { publicRefusal } from '../../graphql/mask-error.ts';
import type { Logger } from '../../platform/log.ts';
import { addressKey, attemptOrigin } from '../../request/client-address.ts';
import type { HttpRequest } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';

/** Why nobody is signed in: for the page that asks again. */
export interface FailedSignIn {
  readonly problem: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const WRONG = 'The e-mail or the password is wrong. Check both and try again.';

/** A refusal in words for whoever reads the page. Throws what is no refusal. */
export function problemOf(error: unknown, state: RequestState, log: Logger): Required<FailedSignIn> {
  if (!(error instanceof ApiError)) throw error;
  const { code, status, headers, message } = publicRefusal(error, { requestId: state.requestId, log });
  state.errorCodes = [code];
  const wait = headers['retry-after'];
  const problem =
    status === 429 && wait !== undefined ? `Too many attempts. Try again in ${wait} seconds.` : message;
  return { problem, status, headers };
}

/** Signs in with what the form of a page holds. Throws what is no refusal. */
export async function signInBy(
  form: URLSearchParams,
  request: HttpRequest,
  state: RequestState,
  { login, log }: { readonly login: Login; readonly log: Logger },
): Promise<LoggedIn | FailedSignIn> {
  try {
    const loggedIn = await login({
      email: form.get('email') ?? '',
      password: form.get('password') ?? '',
      countedFor: `address:${addressKey(state.clientAddress)}`,
      origin: attemptOrigin(state),
      userAgent: request.headers.get('user-agent'),
    });
    return loggedIn ?? { problem: WRONG, status: 401, headers: { 'www-authenticate': 'Bearer' } };
  } catch (error) {
    return problemOf(error, state, log);
  }
}
