import type { Client, Interaction, InteractionResults } from 'oidc-provider';
import { setSessionCookie } from '../../../auth/authenticate.ts';
import type { Login } from '../../../auth/login.ts';
import { SESSION } from '../../../auth/principal.ts';
import { type ClientScope, isIdentityScope, isScope, scopesOfRole } from '../../../auth/scopes.ts';
import { badRequest, readForm } from '../../../http/body.ts';
import { pageResponse, redirectSameSite, seeOther } from '../../../http/html/page.ts';
import { type FailedSignIn, problemOf, signInBy } from '../../../http/html/sign-in.ts';
import type { HttpResponse } from '../../../http/message.ts';
import type { Logger } from '../../../platform/log/log.ts';
import { canBeImpersonated, getGrantableScopes } from '../clients.ts';
import { allow, isAllowed } from '../grants.ts';
import { type ActiveAccount, findAccountOfSession, selectIdentityScopes } from '../identity.ts';
import { signInPath } from '../paths.ts';
import type { OAuthRequests } from '../provider/oauth-transaction.ts';
import { BROWSER, RESOURCE, SILENT } from '../provider/provider.ts';
import type { LibraryCalls } from '../provider/provider-bridge.ts';
import {
  CLEAR_REJECTION,
  createRejectionCookie,
  type RejectedSignIn,
  readBrowserId,
  readRejection,
} from './cookies.ts';
import type { EndpointRequest } from './endpoints.ts';
import { consentPage, type createSignIns, loginPage } from './sign-in.ts';

interface InteractionOptions extends Pick<OAuthRequests, 'database' | 'transaction' | 'settle'> {
  readonly calls: LibraryCalls;
  readonly login: Login;
  readonly signIns: ReturnType<typeof createSignIns>;
  readonly log: Logger;
}

export interface PageRequest extends EndpointRequest {
  readonly uid: string;
}

interface PendingAuthorization extends PageRequest {
  readonly interaction: Interaction;
  readonly client: Client;
  readonly redirectUri: string;
  finish(result: InteractionResults): Promise<HttpResponse>;
}

/** The query parameter means that the user wants another account. */
const OTHER_ACCOUNT = 'another-account';

/** Longer email addresses are not shown again. */
const MAX_EMAIL = 254;

const EXPIRED =
  'This sign-in has expired or was started in another browser. Go back to the application and start again.';

const UNKNOWN_HERE =
  'This browser has no session for this sign-in. The browser blocked the cookie, or you signed in with another browser. Sign in here to continue.';

/** Replaces the library's error for a sign-in that has finished in another tab. */
function sayExpired(error: unknown): never {
  throw (error as { expose?: boolean }).expose === true ? badRequest(EXPIRED) : error;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const prompts = ({ params }: Interaction, name: string) => text(params.prompt).split(' ').includes(name);

export function createInteractions(options: InteractionOptions) {
  const { calls, database, transaction, login, signIns, settle, log } = options;

  /** @throws BAD_REQUEST if the sign-in does not exist or belongs to another browser */
  async function findPendingAuthorization(arrived: PageRequest): Promise<PendingAuthorization> {
    const { provider, request, uid } = arrived;
    const browser = readBrowserId(request);
    const interaction = browser === undefined ? undefined : await provider.Interaction.find(uid);
    if (interaction === undefined || interaction.params[BROWSER] !== browser) throw badRequest(EXPIRED);
    const client = await provider.Client.find(text(interaction.params.client_id));
    if (client === undefined) throw badRequest(EXPIRED);
    return {
      ...arrived,
      interaction,
      client,
      redirectUri: text(interaction.params.redirect_uri),
      async finish(result) {
        interaction.result = result;
        await interaction.persist().catch(sayExpired);
        // A relative URL keeps the browser on the host that has its cookies.
        return seeOther(signInPath('resume', uid));
      },
    };
  }

  function showLogin(
    { uid, client, redirectUri, interaction }: PendingAuthorization,
    email?: string,
    failed?: FailedSignIn,
  ) {
    const page = loginPage({
      clientName: client.clientName ?? client.clientId,
      action: signInPath('login', uid),
      cancelPath: signInPath('cancel', uid),
      email: (email ?? text(interaction.params.login_hint)).slice(0, MAX_EMAIL),
      problem: failed?.problem,
    });
    return pageResponse(page, { redirectUri, ...failed });
  }

  function scopesFor({ client, interaction }: PendingAuthorization, { role }: ActiveAccount): ClientScope[] {
    const requested = text(interaction.params.scope).split(' ');
    const held = scopesOfRole(role);
    const scopes = getGrantableScopes(client, { alone: false });
    return [
      ...selectIdentityScopes(scopes, requested),
      ...scopes.filter((scope) => isScope(scope) && requested.includes(scope) && held.includes(scope)),
    ];
  }

  function showConsent(
    context: PendingAuthorization,
    account: ActiveAccount,
    scopes: readonly ClientScope[],
  ): HttpResponse {
    const { uid, client, redirectUri } = context;
    const { protocol, host } = new URL(redirectUri);
    const page = consentPage({
      clientName: client.clientName ?? client.clientId,
      destination: host === '' ? protocol.slice(0, -1) : host,
      account,
      scopes,
      allowPath: signInPath('allow', uid),
      cancelPath: signInPath('cancel', uid),
      otherAccountPath: `${signInPath('interaction', uid)}?${OTHER_ACCOUNT}`,
    });
    return pageResponse(page, { redirectUri });
  }

  async function authorize(
    { provider, client, finish }: PendingAuthorization,
    { account: { id: accountId, signedInAt: ts }, session }: SignedIn,
    scopes: readonly ClientScope[],
  ) {
    const grant = new provider.Grant({ accountId, clientId: client.clientId });
    grant.addOIDCScope(scopes.filter(isIdentityScope).join(' '));
    grant.addResourceScope(RESOURCE, scopes.join(' '));
    const grantId = await grant.save();
    const login = { accountId, remember: false, ts };
    return finish({ login, consent: { grantId }, session, [SILENT]: {}, select_account: {} });
  }

  /**
   * Identifies the user by the request's session. The authorization only stores the session that was created
   * for it, because an attacker may have planted the authorization in this browser.
   */
  async function signedInWith({ request, interaction }: PendingAuthorization): Promise<SignedIn | undefined> {
    const { credentialId: session } = (await signIns.sessionOf(request)) ?? {};
    const account = session === undefined ? undefined : await findAccountOfSession(database, session);
    if (session === undefined || account === undefined) return undefined;
    const { max_age: maxAge } = interaction.params;
    const isTooOld = prompts(interaction, 'login') || account.secondsAgo > Number(maxAge ?? Infinity);
    return isTooOld && signIns.openedIn(interaction) !== session ? undefined : { account, session };
  }

  /** The handler redirects to the page if possible, so that Back and Reload do not send the form again. */
  async function reject(
    context: PendingAuthorization,
    { email, failed }: RejectedSignIn,
  ): Promise<HttpResponse> {
    const { uid } = context;
    const cookie = createRejectionCookie(uid, { email: email.slice(0, MAX_EMAIL), failed });
    if (cookie === undefined) return showLogin(context, email, failed);
    const page = signInPath('interaction', uid);
    // The signed-in user has asked for another account.
    const isOther = (await signedInWith(context)) !== undefined;
    return seeOther(isOther ? `${page}?${OTHER_ACCOUNT}` : page, { 'set-cookie': cookie });
  }

  function showRejection(context: PendingAuthorization, { email, failed }: RejectedSignIn): HttpResponse {
    const headers = { ...failed.headers, 'set-cookie': CLEAR_REJECTION };
    return showLogin(context, email, { ...failed, headers });
  }

  async function show(context: PendingAuthorization): Promise<HttpResponse> {
    const { request, interaction, client, uid, finish } = context;
    const { searchParams } = new URL(request.url);
    const rejected = readRejection(request, uid);
    if (rejected !== undefined) return showRejection(context, rejected);
    if (searchParams.has(OTHER_ACCOUNT)) return showLogin(context);
    const isSilent = prompts(interaction, SILENT);
    const signedIn = await signedInWith(context);
    if (signedIn === undefined) {
      const redirect = redirectSameSite(request, signInPath('interaction', uid));
      if (redirect !== undefined) return redirect;
      if (isSilent) return finish({ error: 'login_required', error_description: 'the user must sign in' });
      const lost = signIns.openedIn(interaction) !== undefined;
      return showLogin(context, undefined, lost ? { problem: UNKNOWN_HERE } : undefined);
    }
    const { account } = signedIn;
    const scopes = scopesFor(context, account);
    if (scopes.length === 0)
      return finish({
        error: 'invalid_scope',
        error_description: 'the account cannot hold any of the requested scopes',
      });
    const asks = ['consent', 'select_account'].some((name) => prompts(interaction, name));
    const consent = { userId: account.id, clientId: client.clientId, scopes };
    if (!asks && !canBeImpersonated(client) && (await isAllowed(database, consent)))
      return authorize(context, signedIn, scopes);
    if (isSilent)
      return finish({ error: 'consent_required', error_description: 'the user must give consent' });
    return showConsent(context, account, scopes);
  }

  async function signIn(context: PendingAuthorization): Promise<HttpResponse> {
    const { request, admitted, interaction, uid } = context;
    const form = await readForm(request);
    const email = form.get('email') ?? '';
    // The browser must receive the cookie of a new session.
    settle();
    const result = await signInBy(form, request, admitted, { login, log });
    if ('problem' in result) return reject(context, { email, failed: result });
    try {
      await signIns.replace(request, interaction, result.sessionId).catch(sayExpired);
    } catch (error) {
      return showLogin(context, email, problemOf(error, admitted, log));
    }
    return seeOther(signInPath('interaction', uid), { 'set-cookie': setSessionCookie(result.sessionId) });
  }

  async function confirm(context: PendingAuthorization): Promise<HttpResponse> {
    const { request, client, uid } = context;
    const shown = (await readForm(request)).get('account');
    const signedIn = await signedInWith(context);
    // A user who has signed out or changed accounts since has not seen this consent.
    if (signedIn === undefined || signedIn.account.id !== shown)
      return seeOther(signInPath('interaction', uid));
    const { account } = signedIn;
    const scopes = scopesFor(context, account);
    const consent = { userId: account.id, clientId: client.clientId, scopes };
    const { requestId } = context.admitted;
    const author = { actorId: account.id, via: `${SESSION}:${signedIn.session}`, requestId };
    if (!(await transaction(author, (work) => allow(work, consent, signedIn.session))))
      return seeOther(signInPath('interaction', uid));
    return authorize(context, signedIn, scopes);
  }

  /** Only the session of the result may send the result to the client. */
  async function resume(context: PendingAuthorization): Promise<HttpResponse> {
    const { provider, request, admitted, uid, interaction } = context;
    const { session } = (interaction.result ?? {}) as Finished;
    if (session !== undefined && (await signIns.sessionOf(request))?.credentialId !== session)
      return seeOther(signInPath('interaction', uid));
    const { response } = await calls.call(provider, {
      request,
      admitted,
      target: signInPath('resume', uid),
      resumes: uid,
    });
    return response;
  }

  const page =
    (handle: (context: PendingAuthorization) => Promise<HttpResponse>) => async (arrived: PageRequest) =>
      handle(await findPendingAuthorization(arrived));

  return {
    interaction: page(show),
    resume: page(resume),
    login: page(signIn),
    allow: page(confirm),
    cancel: page(({ finish }) =>
      finish({ error: 'access_denied', error_description: 'the user denied the request' }),
    ),
  };
}

interface SignedIn {
  readonly account: NonNullable<Awaited<ReturnType<typeof findAccountOfSession>>>;
  readonly session: string;
}

/** Data of a finished authorization that the library does not need. */
interface Finished {
  readonly session?: string;
}
