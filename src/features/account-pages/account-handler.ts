import { CLEAR_SESSION_COOKIE, extractSessionCookie, setSessionCookie } from '../../auth/authenticate.ts';
import { isSession, type Principal } from '../../auth/principal.ts';
import { readConnectionFor } from '../../auth/secrets.ts';
import { badRequest, readForm } from '../../http/body.ts';
import type { AdmittedRequest, RouteHandler } from '../../http/exchange.ts';
import { OWN_SITES } from '../../http/hooks/request-checks.ts';
import { type HtmlPageOptions, pageResponse, redirectSameSite, seeOther } from '../../http/html/page.ts';
import { problemOf, signInBy } from '../../http/html/sign-in.ts';
import type { HttpRequest, HttpResponse } from '../../http/message.ts';
import { ACCOUNT } from '../../http/routes/table.ts';
import { confirmPassword } from '../../schema/account/service.ts';
import { type AccountServices, accountReader, CHANGES, CREATE_KEY, createOwnData } from './account-data.ts';
import { accountPage, KEY_DAYS, newKeyPage, signInPage } from './account-page.ts';
import { ACTION, type Action, DONE, isAction, type Problem, TWO_DIFFER } from './forms.ts';

const DAY_MS = 86_400_000;
const NOT_KEPT =
  'You are not signed in. If you have just signed in, the browser has blocked the session cookie. Allow cookies for this site.';
const SESSION_ENDED = 'Your session expired or was revoked. Sign in again.';

/** The API's messages name arguments, which are replaced by words of the form. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  name: 'The name',
  handle: 'The handle',
  bio: 'The text about you',
  avatarUrl: 'The URL of the picture',
  newPassword: 'The new password',
};

/** These sentences replace messages of the API about words that no form has. */
const SENTENCES: Readonly<Record<string, string>> = {
  currentPassword: 'The password is wrong.',
  scopes: 'Choose at least one permission for the key.',
};

function inWords(message: string): string {
  const [, argument = '', rest] = /^Argument "(\w+)" (.*)$/s.exec(message) ?? [];
  if (rest === undefined) return message;
  return SENTENCES[argument] ?? `${ARGUMENTS[argument] ?? argument} ${rest}`;
}

/**
 * Reads from the URL which action has just succeeded. Links on other sites could claim anything, so
 * cross-site navigation does not count.
 */
function doneOf({ headers, url }: HttpRequest): Action | undefined {
  const done = new URL(url).searchParams.get(DONE);
  return isAction(done) && OWN_SITES.has(headers.get('sec-fetch-site') ?? 'none') ? done : undefined;
}

/**
 * These actions leave the browser signed out, unless another tab has signed in or the session has expired.
 */
const ENDS_SESSION: ReadonlySet<Action> = new Set(['sign-out', 'revoke-everything']);

/**
 * A sibling host has set a second session cookie. People who must sign in again and again need the reason.
 */
function severalCookies({ headers }: HttpRequest): string | undefined {
  const extracted = extractSessionCookie(headers);
  return extracted !== undefined && 'malformed' in extracted ? extracted.malformed : undefined;
}

const doneAt = (action: Action): string => `${ACCOUNT}?${DONE}=${action}`;

interface CreatedKey {
  readonly createApiKey: { readonly key: string };
}

interface AccountPageRequest {
  readonly form: URLSearchParams;
  readonly caller: Principal;
  readonly admitted: AdmittedRequest;
}

/**
 * The handler uses operations of the API with the visitor's session. After a success, the handler redirects
 * to the page. After a failure, the handler shows the reason next to the form.
 */
export function createAccountHandler(options: AccountServices): RouteHandler {
  const { database, login, endSession, passwords, operations, securityLog, clock, log } = options;
  const ownData = createOwnData(options);
  const read = accountReader(operations);

  const signInAgain = (errorCodes: readonly string[] = []) =>
    pageResponse(signInPage({ email: '', problem: SESSION_ENDED }), {
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
      errorCodes,
    });

  async function show(
    { caller: { role }, admitted }: Omit<AccountPageRequest, 'form'>,
    { failed, done }: { readonly failed?: Problem; readonly done?: Action | undefined },
    options?: HtmlPageOptions,
  ): Promise<HttpResponse> {
    const account = await read(admitted);
    return pageResponse(accountPage({ account, role, failed, done }), options);
  }

  async function signIn(form: URLSearchParams, request: HttpRequest, admitted: AdmittedRequest) {
    const result = await signInBy(form, request, admitted, { login, log });
    if ('problem' in result)
      return pageResponse(signInPage({ email: form.get('email') ?? '', problem: result.problem }), result);
    // The browser forgets the cookie, so the session's owner could not revoke the session later.
    await endSession(admitted.caller);
    return seeOther(doneAt('sign-in'), { 'set-cookie': setSessionCookie(result.sessionId) });
  }

  async function signOut({ caller }: AdmittedRequest): Promise<HttpResponse> {
    await endSession(caller);
    // The next person at the browser finds nothing of the account in its cache (Clear Site Data §3.1).
    const headers = { 'set-cookie': CLEAR_SESSION_COOKIE, 'clear-site-data': '"cache"' };
    return seeOther(doneAt('sign-out'), headers);
  }

  /** @throws what the API throws for a wrong password */
  async function confirm({ form, caller, admitted }: AccountPageRequest): Promise<void> {
    const { userId } = caller;
    const onWrongPassword = () => securityLog.failedLogin(admitted, 'wrong_password', userId);
    const context = { caller, db: readConnectionFor(database, userId), passwords, onWrongPassword };
    await confirmPassword(context, form.get('currentPassword') ?? '');
  }

  async function makeKey({ form, admitted }: AccountPageRequest): Promise<HttpResponse> {
    const days = KEY_DAYS.find((choice) => String(choice) === form.get('days'));
    if (days === undefined) throw badRequest('Choose how long the key is valid.');
    const name = form.get('name') ?? '';
    const expiresAt = days === 0 ? null : new Date(clock.now() + days * DAY_MS).toISOString();
    const currentPassword = form.get('currentPassword') ?? '';
    const wishes = { name, scopes: form.getAll('scope'), expiresAt, currentPassword };
    const { data } = await operations.run<CreatedKey>(CREATE_KEY, wishes, admitted);
    return pageResponse(newKeyPage(name, data.createApiKey.key));
  }

  async function perform(action: Action, asked: AccountPageRequest): Promise<HttpResponse> {
    const { form, admitted } = asked;
    if (action === 'create-key') return makeKey(asked);
    if (action === 'download') {
      await confirm(asked);
      return ownData(asked.caller, admitted.requestId);
    }
    if (action === 'change-password' && form.get('newPassword') !== form.get('again'))
      throw badRequest(TWO_DIFFER);
    const change = CHANGES[action];
    if (change === undefined) throw badRequest('The form is unknown. Reload the page and try again.');
    const { headers } = await operations.run(change.document, change.variables(form), admitted);
    const ended = action === 'revoke-everything' ? { 'set-cookie': CLEAR_SESSION_COOKIE } : {};
    return seeOther(doneAt(action), { ...headers, ...ended });
  }

  /**
   * Shows next to the form why the action failed.
   * @throws errors that another input does not fix
   */
  async function reject(error: unknown, action: Action, asked: AccountPageRequest): Promise<HttpResponse> {
    const { status, headers, errorCodes, problem, argument } = problemOf(error, asked.admitted, log);
    if (status === 401) return signInAgain(errorCodes);
    // The API reports a wrong argument as an error of one field, with a status below 400.
    const shownStatus = status < 400 ? 400 : status;
    const failed = { action, given: asked.form, problem: inWords(problem), field: argument };
    return show(asked, { failed }, { status: shownStatus, headers, errorCodes });
  }

  async function act(request: HttpRequest, admitted: AdmittedRequest): Promise<HttpResponse> {
    const form = await readForm(request);
    const action = form.get(ACTION);
    if (!isAction(action)) throw badRequest('The form is unknown. Reload the page and try again.');
    if (action === 'sign-in') return signIn(form, request, admitted);
    if (action === 'sign-out') return signOut(admitted);
    const { caller } = admitted;
    if (!isSession(caller)) return signInAgain();
    const asked = { form, caller, admitted };
    try {
      return await perform(action, asked);
    } catch (error) {
      return reject(error, action, asked);
    }
  }

  return async (request, admitted) => {
    if (request.method === 'POST') return act(request, admitted);
    const { caller } = admitted;
    const done = doneOf(request);
    const told = done !== undefined && ENDS_SESSION.has(done) !== isSession(caller) ? done : undefined;
    if (isSession(caller)) return show({ caller, admitted }, { done: told });
    const problem = severalCookies(request) ?? (done === 'sign-in' ? NOT_KEPT : undefined);
    return redirectSameSite(request, ACCOUNT) ?? pageResponse(signInPage({ email: '', problem, done: told }));
  };
}
