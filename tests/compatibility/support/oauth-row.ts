import { expect } from 'vitest';
import { Browser } from '../../support/credentials/oauth.ts';
import { readResponse } from '../../support/graphql.ts';
import { until } from '../../support/processes/process.ts';
import { createRow } from './check.ts';
import { type Cluster, provideCluster } from './cluster.ts';
import type { Person } from './people.ts';
import type { Row } from './results.ts';

export const API_SCOPES = 'posts:read users:read';
export const OPENID_SCOPES = `openid profile email ${API_SCOPES}`;

/** A client as `oauth-client create` prints it. */
export interface RegisteredClient {
  readonly id: string;
  /** Empty for a public client. */
  readonly secret: string;
}

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** The name in the ID token. */
  readonly userName?: string;
  readonly idToken?: string;
}

/** Goes to a URL as the browser of a user does. @returns the URL of the application to which the browser is sent */
export type Visit = (url: URL) => Promise<URL>;

/** What an application knows about the service. */
export interface OAuthPlace {
  readonly issuer: string;
  /** Where the GraphQL API is. */
  readonly api: string;
  /** Signs users in. */
  readonly application: RegisteredClient;
  /** Acts for its owner. */
  readonly service: RegisteredClient;
  /** Where the application sees users who have signed out. */
  readonly signedOutUri: string;
}

/** A library as an application uses it. It is without a method for what the library does not offer. */
export interface OAuthDriver {
  /** Finds the endpoints by the URL of the issuer. */
  discover?(): Promise<unknown>;
  signIn(visit: Visit): Promise<Tokens>;
  refresh?(refreshToken: string): Promise<Tokens>;
  /** @returns an access token */
  requestClientCredentials?(): Promise<string>;
  revoke?(tokens: Tokens): Promise<void>;
  /** Sends the user to sign out. @returns the URL of the application to which the browser is sent */
  signOut?(visit: Visit, tokens: Tokens): Promise<URL>;
}

export interface OAuthRow extends Omit<Row<'oauth'>, 'group'> {
  readonly redirectUri: string;
  /** True for an application that has no secret. */
  readonly isPublic?: boolean;
  createDriver(place: OAuthPlace): OAuthDriver | Promise<OAuthDriver>;
}

function provided<Method>(method: Method | undefined): Method {
  if (method === undefined) throw new Error('the row has a verdict, but the driver lacks the method');
  return method;
}

/** The browser of a user at the service. */
const openBrowser = (origin: string): Browser =>
  new Browser({ fetch: (path, init) => fetch(new URL(path, origin), init) }, {}, origin);

const isSignedIn = async (browser: Browser): Promise<boolean> =>
  (await (await browser.fetch('/login')).json()).user !== null;

/** The pages of the service as a user goes through them, who signs in and confirms what is asked. */
async function visitAs({ email, password }: Person, browser: Browser, url: URL): Promise<URL> {
  let step = await browser.open(url.href);
  while (step.left === undefined) {
    const page = await step.response.text();
    if (!step.response.ok) throw new Error(`the page has the status ${step.response.status}:\n${page}`);
    const isSignIn = page.includes('name="password"');
    step = await browser.submit(page, isSignIn ? { email, password } : {});
  }
  return step.left;
}

/** The name of the account that a token acts for; undefined if the token is rejected. */
export async function nameOf(api: string, accessToken: string): Promise<string | undefined> {
  const query = new URLSearchParams({ query: '{ viewer { name } }' });
  const headers = { authorization: `Bearer ${accessToken}` };
  const { data } = await readResponse(await fetch(`${api}?${query}`, { headers }));
  return data?.viewer.name;
}

/** True if the service gives the application new tokens for a refresh token. */
async function canRefresh({ issuer, application }: OAuthPlace, refreshToken: string): Promise<boolean> {
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: application.id,
    ...(application.secret === '' ? {} : { client_secret: application.secret }),
  });
  return (await fetch(new URL('/oauth/token', issuer), { method: 'POST', body })).ok;
}

async function register(
  { admin, ada, grace, first }: Cluster,
  { redirectUri, isPublic }: Required<Pick<OAuthRow, 'redirectUri' | 'isPublic'>>,
): Promise<OAuthPlace> {
  const create = async ({ email }: Person, name: string, ...more: readonly string[]) => {
    const options = ['--owner', email, '--name', name, ...more];
    const { client_id: id, client_secret: secret = '' } = await admin<{
      readonly client_id: string;
      readonly client_secret?: string;
    }>('oauth-client', 'create', ...options);
    return { id, secret };
  };
  const signedOutUri = new URL('/signed-out', redirectUri).href;
  const users = ['--grants', 'authorization_code refresh_token', '--scopes', OPENID_SCOPES];
  const uris = ['--redirect-uri', redirectUri, '--post-logout-redirect-uri', signedOutUri];
  const [application, service] = await Promise.all([
    create(ada, 'Application', ...users, ...uris, ...(isPublic ? ['--public'] : [])),
    create(grace, 'Service', '--grants', 'client_credentials', '--scopes', API_SCOPES),
  ]);
  return { issuer: first.origin, api: first.url, application, service, signedOutUri };
}

/** Defines the tests of an OAuth library. */
export function describeOAuthClient({ createDriver, redirectUri, isPublic = false, ...row }: OAuthRow): void {
  const { check } = createRow({ group: 'oauth', ...row });
  const cluster = provideCluster();
  let place: Promise<OAuthPlace> | undefined;

  const start = async () => {
    place ??= register(cluster(), { redirectUri, isPublic });
    const registered = await place;
    const driver = await createDriver(registered);
    const browser = openBrowser(registered.issuer);
    const visit: Visit = (url) => visitAs(cluster().ada, browser, url);
    return { ...registered, driver, browser, visit, signIn: () => driver.signIn(visit) };
  };

  check('discovery', 'finds the endpoints by the issuer', async () => {
    const { driver } = await start();
    await provided(driver.discover)();
  });

  check('signIn', 'signs a user in, whose API it calls', async () => {
    const { api, signIn } = await start();
    const { accessToken } = await signIn();
    expect(await nameOf(api, accessToken)).toBe('Ada');
  });

  check('openid', 'knows from the ID token who has signed in', async () => {
    const { signIn } = await start();
    expect((await signIn()).userName).toBe('Ada');
  });

  check('refresh', 'gets a new access token', async () => {
    const { api, driver, signIn } = await start();
    const first = await signIn();
    const second = await provided(driver.refresh)(first.refreshToken);
    expect(second.accessToken).not.toBe(first.accessToken);
    expect(second.refreshToken).not.toBe(first.refreshToken);
    expect(await nameOf(api, second.accessToken)).toBe('Ada');
  });

  check('service', 'acts for the owner of a service', async () => {
    const { api, driver } = await start();
    const accessToken = await provided(driver.requestClientCredentials)();
    expect(await nameOf(api, accessToken)).toBe('Grace');
  });

  check('revocation', 'revokes what it has got', async () => {
    const { driver, signIn, ...registered } = await start();
    const { api } = registered;
    const tokens = await signIn();
    expect(await nameOf(api, tokens.accessToken)).toBe('Ada');
    await provided(driver.revoke)(tokens);
    await until('the revocation', async () => (await nameOf(api, tokens.accessToken)) === undefined);
    expect(await canRefresh(registered, tokens.refreshToken)).toBe(false);
  });

  check('signOut', 'ends the session of its user at the service', async () => {
    const { driver, browser, visit, signIn, signedOutUri } = await start();
    const tokens = await signIn();
    expect(await isSignedIn(browser)).toBe(true);
    const { origin, pathname } = await provided(driver.signOut)(visit, tokens);
    expect(`${origin}${pathname}`).toBe(signedOutUri);
    expect(await isSignedIn(browser)).toBe(false);
  });
}
