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
  readonly secret: string;
}

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** The name in the ID token. */
  readonly userName?: string;
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
}

export interface OAuthRow extends Omit<Row<'oauth'>, 'group'> {
  readonly redirectUri: string;
  createDriver(place: OAuthPlace): OAuthDriver | Promise<OAuthDriver>;
}

function provided<Method>(method: Method | undefined): Method {
  if (method === undefined) throw new Error('the row has a verdict, but the driver lacks the method');
  return method;
}

/** The pages of the service as a user goes through them, who signs in and allows what is asked. */
export async function visitAs({ email, password }: Person, origin: string, url: URL): Promise<URL> {
  const service = { fetch: (path: string, init?: RequestInit) => fetch(new URL(path, origin), init) };
  const browser = new Browser(service, {}, origin);
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

async function register({ admin, ada, grace, first }: Cluster, redirectUri: string): Promise<OAuthPlace> {
  const create = async ({ email }: Person, name: string, ...more: readonly string[]) => {
    const options = ['--owner', email, '--name', name, ...more];
    const { client_id: id, client_secret: secret } = await admin<{
      readonly client_id: string;
      readonly client_secret: string;
    }>('oauth-client', 'create', ...options);
    return { id, secret };
  };
  const users = ['--grants', 'authorization_code refresh_token', '--scopes', OPENID_SCOPES];
  const [application, service] = await Promise.all([
    create(ada, 'Application', ...users, '--redirect-uri', redirectUri),
    create(grace, 'Service', '--grants', 'client_credentials', '--scopes', API_SCOPES),
  ]);
  return { issuer: first.origin, api: first.url, application, service };
}

/** Defines the tests of an OAuth library. */
export function describeOAuthClient({ createDriver, redirectUri, ...row }: OAuthRow): void {
  const { check } = createRow({ group: 'oauth', ...row });
  const cluster = provideCluster();
  let place: Promise<OAuthPlace> | undefined;

  const start = async () => {
    place ??= register(cluster(), redirectUri);
    const { api, ...registered } = await place;
    const driver = await createDriver({ api, ...registered });
    const signIn = () => driver.signIn((url) => visitAs(cluster().ada, cluster().first.origin, url));
    return { api, driver, signIn };
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
    const { api, driver, signIn } = await start();
    const tokens = await signIn();
    expect(await nameOf(api, tokens.accessToken)).toBe('Ada');
    await provided(driver.revoke)(tokens);
    await until('the revocation', async () => (await nameOf(api, tokens.accessToken)) === undefined);
  });
}
