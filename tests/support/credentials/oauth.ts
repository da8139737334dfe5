import { createHash, randomBytes } from 'node:crypto';
import { type ClientScope, type Role, scopesOfRole } from '../../../src/auth/scopes.ts';
import { createOAuthClient, type GrantType } from '../../../src/features/oauth/clients.ts';
import { ORIGIN, type TestApp } from '../app.ts';
import type { Parsed } from '../parsed.ts';

export type Fetching = Pick<TestApp, 'fetch'>;

export const REDIRECT_URI = 'https://client.example/callback';

export interface TestClient {
  readonly id: string;
  /** Empty for a public client. */
  readonly secret: string;
}

export interface TestClientOptions {
  readonly owner: { readonly id: string; readonly role?: Role };
  readonly grants?: readonly GrantType[];
  readonly scopes?: readonly ClientScope[];
  readonly redirectUris?: readonly string[];
  readonly postLogoutRedirectUris?: readonly string[];
  readonly public?: boolean;
  readonly name?: string;
  readonly burst?: number;
  readonly perSecond?: number;
}

/** A client for users, as `oauth-client create` makes them. */
export async function oauthClient(
  app: TestApp,
  { owner, grants = ['authorization_code', 'refresh_token'], ...options }: TestClientOptions,
): Promise<TestClient> {
  const made = await createOAuthClient(app.database, {
    owner: { id: owner.id, role: owner.role ?? 'member' },
    name: options.name ?? 'Reader',
    grants,
    scopes: options.scopes ?? scopesOfRole('member'),
    redirectUris: options.redirectUris ?? (grants.includes('authorization_code') ? [REDIRECT_URI] : []),
    postLogoutRedirectUris: options.postLogoutRedirectUris ?? [],
    public: options.public ?? false,
    burst: options.burst,
    perSecond: options.perSecond,
  });
  return { id: made.client_id, secret: made.client_secret ?? '' };
}

export interface TokenResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Parsed;
}

/** Posts a form to an endpoint. */
export async function postForm(
  app: Fetching,
  path: string,
  fields: Record<string, string> | string,
  headers: Record<string, string> = {},
): Promise<TokenResponse> {
  const response = await app.fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: typeof fields === 'string' ? fields : new URLSearchParams(fields).toString(),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? '' : JSON.parse(text) };
}

export const basic = ({ id, secret }: TestClient) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});

/** A request to the token endpoint, with the client's secret where it has one. */
export function askToken(
  app: Fetching,
  client: TestClient,
  fields: Record<string, string>,
): Promise<TokenResponse> {
  if (client.secret === '') return postForm(app, '/oauth/token', { client_id: client.id, ...fields });
  return postForm(app, '/oauth/token', fields, basic(client));
}

export const PKCE = () => {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
};

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

/** A browser as far as HTTP goes: cookies by name and path, redirects one at a time. */
export class Browser {
  readonly #app: Fetching;
  readonly #cookies = new Map<string, Cookie>();

  readonly #origin: string;

  constructor(app: Fetching, cookies: Record<string, string> = {}, origin = ORIGIN) {
    this.#app = app;
    this.#origin = origin;
    for (const [name, value] of Object.entries(cookies)) this.#keep({ name, value, path: '/' });
  }

  #keep(cookie: Cookie): void {
    this.#cookies.set(`${cookie.name} ${cookie.path}`, cookie);
  }

  /** Has a cookie from now on. */
  adopt(name: string, value: string): void {
    this.#keep({ name, value, path: '/' });
  }

  /** Has a cookie no more. */
  drop(name: string): void {
    this.#cookies.delete(`${name} /`);
  }

  /** Has the cookies of another browser, as a sibling domain would set them. */
  plantedBy(other: Browser): void {
    for (const cookie of other.#cookies.values()) this.#keep(cookie);
  }

  cookie(name: string): string | undefined {
    return this.#cookies.get(`${name} /`)?.value;
  }

  /** What it sends along to a path, as a Cookie header. */
  cookiesAt(path: string): string {
    return [...this.#cookies.values()]
      .filter(({ path: at }) => at === '/' || path === at || path.startsWith(`${at}/`))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  }

  async fetch(address: string, init: RequestInit = {}): Promise<Response> {
    const { pathname, search } = new URL(address, this.#origin);
    const cookie = this.cookiesAt(pathname);
    const response = await this.#app.fetch(pathname + search, {
      redirect: 'manual',
      ...init,
      headers: { ...(cookie === '' ? {} : { cookie }), ...(init.headers as Record<string, string>) },
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ');
      const [name = '', ...value] = pair.split('=');
      const path = attributes.find((attribute) => /^path=/i.test(attribute))?.slice(5) ?? '/';
      if (value.join('=') === '') this.#cookies.delete(`${name} ${path}`);
      else this.#keep({ name, value: value.join('='), path });
    }
    return response;
  }

  /** Follows redirects for as long as they stay here. The last response, or the address that leads elsewhere. */
  async open(address: string, init: RequestInit = {}): Promise<{ response: Response; left?: URL }> {
    let response = await this.fetch(address, init);
    for (;;) {
      const location = response.headers.get('location');
      if (location === null) return { response };
      const to = new URL(location, this.#origin);
      if (to.origin !== this.#origin) return { response, left: to };
      response = await this.fetch(to.href);
    }
  }

  /** Posts the first form of a page, or the one that posts to a path that ends so. */
  async submit(page: string, fields: Record<string, string> = {}, ending = '') {
    const form = [...page.matchAll(/<form[^>]* method="post" action="([^"]*)">([\s\S]*?)<\/form>/g)].find(
      ([, action = '']) => action.endsWith(ending),
    );
    if (form === undefined) throw new Error(`there is no form:\n${page}`);
    const hidden = [...(form[2] ?? '').matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)];
    const body = new URLSearchParams([
      ...hidden.map(([, name = '', value = '']) => [name, value]),
      ...Object.entries(fields),
    ]);
    return this.open(form[1] ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: this.#origin },
      body: body.toString(),
    });
  }
}

export interface AuthorizeOptions {
  readonly scope?: string;
  readonly redirectUri?: string;
  readonly challenge?: string;
  readonly extra?: Record<string, string | undefined>;
}

/** The address that a client sends its user to. */
export function authorizeUrl(
  client: Pick<TestClient, 'id'>,
  { scope, redirectUri = REDIRECT_URI, challenge, extra = {} }: AuthorizeOptions = {},
): string {
  const parameters = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirectUri,
    code_challenge: challenge,
    code_challenge_method: challenge === undefined ? undefined : 'S256',
    scope,
    state: 'the-state',
    ...extra,
  };
  const given = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return `/oauth/authorize?${new URLSearchParams(given)}`;
}

export interface Authorized {
  readonly code: string;
  readonly verifier: string;
  readonly browser: Browser;
}

/** A whole authorization by a user who signs in (or is signed in) and allows what is asked. */
export async function authorizeClient(
  app: Fetching,
  client: TestClient,
  user: { readonly email: string; readonly password: string },
  options: AuthorizeOptions & { readonly browser?: Browser } = {},
): Promise<Authorized> {
  const { verifier, challenge } = PKCE();
  const browser = options.browser ?? new Browser(app);
  let step = await browser.open(authorizeUrl(client, { challenge, ...options }));
  for (let pages = 0; step.left === undefined && pages < 3; pages += 1) {
    const page = await step.response.text();
    const fields = page.includes('name="password"') ? { email: user.email, password: user.password } : {};
    step = await browser.submit(page, fields);
  }
  const code = step.left?.searchParams.get('code');
  if (code == null) throw new Error(`no code: ${step.left ?? (await step.response.text())}`);
  return { code, verifier, browser };
}

/** Exchanges a code. */
export function exchangeCode(
  app: Fetching,
  client: TestClient,
  { code, verifier }: Pick<Authorized, 'code' | 'verifier'>,
  fields: Record<string, string> = {},
): Promise<TokenResponse> {
  return askToken(app, client, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
    ...fields,
  });
}

/** The HTTP status of a GraphQL query with an access token. */
export async function statusWith(app: Fetching, token: string): Promise<number> {
  const response = await app.fetch(`/graphql?query=${encodeURIComponent('{ viewer { id } }')}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return response.status;
}
