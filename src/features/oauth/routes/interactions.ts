import type { Client, Interaction, InteractionResults, default as Provider } from 'oidc-provider';
import { setSessionCookie } from '../../../auth/authenticate.ts';
import type { LoggedIn } from '../../../auth/login.ts';
import { type Caller, isSession, SESSION } from '../../../auth/principal.ts';
import { isIdentityScope, isScope, scopesOfRole } from '../../../auth/scopes.ts';
import { badRequest, readForm } from '../../../http/body.ts';
import { pageResponse, redirectSameSite, seeOther } from '../../../http/html/page.ts';
import { type FailedSignIn, problemOf, signInBy } from '../../../http/html/sign-in.ts';
import type { HttpResponse } from '../../../http/message.ts';
import type { Logger } from '../../../platform/log/log.ts';
import type { RouteServices } from '../../feature.ts';
import { canBeImpersonated, getGrantableScopes } from '../clients.ts';
import { allow, type Consent, isAllowed } from '../grants.ts';
import { type AccountOfSession, findAccountOfSession, selectIdentityScopes } from '../identity.ts';
import { resumePath, signInOf, signInPath } from '../paths.ts';
import type { OAuthRequests } from '../provider/oauth-requests.ts';
import { BROWSER, RESOURCE, SILENT } from '../provider/provider.ts';
import type { CallLibrary } from '../provider/provider-bridge.ts';
import { createRejectionCookie, type RejectedSignIn, readBrowserId, readRejection } from './cookies.ts';
import type { OAuthExchange } from './endpoints.ts';
import { consentPage, loginPage, OTHER_ACCOUNT } from './sign-in-pages.ts';

interface InteractionOptions
  extends Pick<RouteServices, 'login' | 'endSession' | 'accountWriteQueue'>,
    Pick<OAuthRequests, 'database' | 'settle' | 'finishWith'> {
  /** @throws {DatabaseError} */
  readonly provider: () => Promise<Provider>;
  readonly callLibrary: CallLibrary;
  readonly log: Logger;
}

interface PendingAuthorization extends OAuthExchange {
  readonly uid: string;
  readonly interaction: Interaction;
  readonly client: Client;
  readonly redirectUri: string;
  /** Redirects to the client in the same response, so that no other browser or session can get the result. */
  finish(result: InteractionResults): Promise<HttpResponse>;
}

/** Data of an authorization that the library does not need. */
interface StoredSession {
  /** The session that was created for the authorization. */
  readonly signedIn?: string;
}

interface SignedIn {
  readonly account: AccountOfSession;
  readonly session: string;
}

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

const storedIn = ({ result }: Interaction) => (result ?? {}) as StoredSession;

const sessionOf = (caller: Caller | undefined) => (isSession(caller) ? caller.credentialId : undefined);

export function createInteractions(options: InteractionOptions) {
  const { provider, callLibrary, database, settle, finishWith, log } = options;
  const { login, endSession, accountWriteQueue } = options;

  /** @throws BAD_REQUEST if the sign-in does not exist or belongs to another browser */
  async function findPendingAuthorization(exchange: OAuthExchange): Promise<PendingAuthorization> {
    const { request, admitted } = exchange;
    const uid = signInOf(request.url);
    const { Interaction, Client } = await provider();
    const browser = readBrowserId(request);
    const interaction = browser === undefined ? undefined : await Interaction.find(uid);
    if (interaction === undefined || interaction.params[BROWSER] !== browser) throw badRequest(EXPIRED);
    const client = await Client.find(text(interaction.params.client_id));
    if (client === undefined) throw badRequest(EXPIRED);
    return {
      ...exchange,
      uid,
      interaction,
      client,
      redirectUri: text(interaction.params.redirect_uri),
      async finish(result) {
        finishWith(result);
        return (await callLibrary({ request, admitted, target: resumePath(uid), resumes: uid })).response;
      },
    };
  }

  function showLogin(
    { uid, client, redirectUri, interaction }: PendingAuthorization,
    email = text(interaction.params.login_hint),
    failed?: FailedSignIn,
  ): HttpResponse {
    const page = loginPage({ uid, client, email: email.slice(0, MAX_EMAIL), problem: failed?.problem });
    return pageResponse(page, { redirectUri, ...failed });
  }

  /** The user of the consent has the session. */
  function findConsent(
    { client, interaction }: PendingAuthorization,
    { account: { id, role } }: SignedIn,
  ): Consent {
    const requested = text(interaction.params.scope).split(' ');
    const held = scopesOfRole(role);
    const grantable = getGrantableScopes(client, { alone: false });
    const scopes = [
      ...selectIdentityScopes(grantable, requested),
      ...grantable.filter((scope) => isScope(scope) && requested.includes(scope) && held.includes(scope)),
    ];
    return { userId: id, clientId: client.clientId, scopes };
  }

  async function authorize(
    { finish }: PendingAuthorization,
    { account: { signedInAt: ts } }: SignedIn,
    { userId: accountId, clientId, scopes }: Consent,
  ) {
    const { Grant } = await provider();
    const grant = new Grant({ accountId, clientId });
    grant.addOIDCScope(scopes.filter(isIdentityScope).join(' '));
    grant.addResourceScope(RESOURCE, scopes.join(' '));
    const grantId = await grant.save();
    const signedIn = { accountId, remember: false, ts };
    return finish({ login: signedIn, consent: { grantId }, [SILENT]: {}, select_account: {} });
  }

  /**
   * Identifies the user by the request's session. The authorization only stores the session that was created
   * for it, because an attacker may have planted the authorization in this browser.
   */
  async function signedInWith({
    admitted,
    interaction,
  }: PendingAuthorization): Promise<SignedIn | undefined> {
    const session = sessionOf(admitted.caller);
    const account = session === undefined ? undefined : await findAccountOfSession(database, session);
    if (session === undefined || account === undefined) return undefined;
    const { max_age: maxAge } = interaction.params;
    const isTooOld = prompts(interaction, 'login') || account.secondsAgo > Number(maxAge ?? Infinity);
    return isTooOld && storedIn(interaction).signedIn !== session ? undefined : { account, session };
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

  async function show(context: PendingAuthorization): Promise<HttpResponse> {
    const { request, interaction, client, uid, redirectUri, finish } = context;
    const rejected = readRejection(request, uid);
    if (rejected !== undefined) return showLogin(context, rejected.email, rejected.failed);
    if (new URL(request.url).searchParams.has(OTHER_ACCOUNT)) return showLogin(context);
    const isSilent = prompts(interaction, SILENT);
    const signedIn = await signedInWith(context);
    if (signedIn === undefined) {
      const redirect = redirectSameSite(request, signInPath('interaction', uid));
      if (redirect !== undefined) return redirect;
      if (isSilent) return finish({ error: 'login_required', error_description: 'the user must sign in' });
      const lost = storedIn(interaction).signedIn !== undefined;
      return showLogin(context, undefined, lost ? { problem: UNKNOWN_HERE } : undefined);
    }
    const consent = findConsent(context, signedIn);
    const { scopes } = consent;
    if (scopes.length === 0)
      return finish({
        error: 'invalid_scope',
        error_description: 'the account cannot hold any of the requested scopes',
      });
    const asks = ['consent', 'select_account'].some((name) => prompts(interaction, name));
    if (!asks && !canBeImpersonated(client) && (await isAllowed(database, consent)))
      return authorize(context, signedIn, consent);
    if (isSilent)
      return finish({ error: 'consent_required', error_description: 'the user must give consent' });
    const { account } = signedIn;
    return pageResponse(consentPage({ uid, client, redirectUri, account, scopes }), { redirectUri });
  }

  /** The session that the new session replaces in the browser is revoked. */
  async function replaceSession(
    { admitted, interaction }: PendingAuthorization,
    { id }: LoggedIn,
  ): Promise<void> {
    interaction.result = { signedIn: id };
    await interaction.persist().catch(sayExpired);
    await endSession(admitted.caller);
  }

  async function signIn(context: PendingAuthorization): Promise<HttpResponse> {
    const { request, admitted, uid } = context;
    const form = await readForm(request);
    const email = form.get('email') ?? '';
    // The browser must receive the cookie of a new session.
    settle();
    const result = await signInBy(form, request, admitted, { login, log });
    if ('problem' in result) return reject(context, { email, failed: result });
    try {
      await replaceSession(context, result);
    } catch (error) {
      return showLogin(context, email, problemOf(error, admitted, log));
    }
    return seeOther(signInPath('interaction', uid), { 'set-cookie': setSessionCookie(result.sessionId) });
  }

  async function confirm(context: PendingAuthorization): Promise<HttpResponse> {
    const { request, admitted, uid } = context;
    const shown = (await readForm(request)).get('account');
    const signedIn = await signedInWith(context);
    // A user who has signed out or changed accounts since has not seen this consent.
    if (signedIn === undefined || signedIn.account.id !== shown)
      return seeOther(signInPath('interaction', uid));
    const { session } = signedIn;
    const consent = findConsent(context, signedIn);
    const author = { actorId: shown, via: `${SESSION}:${session}`, requestId: admitted.requestId };
    // A stored consent must reach the client, so no deadline ends the request from here on.
    settle();
    const isStored = await accountWriteQueue.transaction(shown, (work) => allow(work, consent, session), {
      author,
    });
    return isStored ? authorize(context, signedIn, consent) : seeOther(signInPath('interaction', uid));
  }

  const page =
    (handle: (context: PendingAuthorization) => Promise<HttpResponse>) => async (exchange: OAuthExchange) =>
      handle(await findPendingAuthorization(exchange));

  return {
    interaction: page(show),
    login: page(signIn),
    allow: page(confirm),
    cancel: page(({ finish }) =>
      finish({ error: 'access_denied', error_description: 'the user denied the request' }),
    ),
  };
}
