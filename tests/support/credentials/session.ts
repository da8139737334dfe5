import { argon2Sync, randomBytes } from 'node:crypto';
import { SESSION_COOKIE } from '../../../src/auth/authenticate.ts';
import { hashPassword } from '../../../src/auth/passwords.ts';
import { openSession } from '../../../src/auth/sessions.ts';
import type { Account, TestApp } from '../app.ts';
import type { GraphQLResponse } from '../graphql.ts';

export const PASSWORD = 'correct horse battery staple';
const hashed = hashPassword(PASSWORD);

/** Of the same password, at the lowest cost: those who only want a session do not pay for its protection. */
function cheapHash(): string {
  const nonce = randomBytes(16);
  const cost = { memory: 8, passes: 1, parallelism: 1 };
  const tag = argon2Sync('argon2id', { message: PASSWORD, nonce, ...cost, tagLength: 32 });
  const [salt, digest] = [nonce, tag].map((bytes) => bytes.toString('base64').replaceAll('=', ''));
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${salt}$${digest}`;
}

/** An account that can log in. */
export interface Person extends Account {
  readonly password: string;
}

/** Somebody who has logged in, and what their browser holds. */
export interface Visitor extends Person {
  readonly cookie: string;
}

/** Posts to /login, from whatever browser `headers` make it. */
export function login(
  app: Pick<TestApp, 'fetch'>,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return app.fetch('/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** What a browser sends back of the cookies that a response has set. */
export function cookieOf(response: Pick<Response, 'headers'>): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
}

type AccountOptions = Parameters<TestApp['account']>[0];

async function withHash(app: TestApp, passwordHash: string, options: AccountOptions): Promise<Person> {
  const account = await app.account(options);
  await app.prisma.user.update({ where: { id: account.id }, data: { passwordHash }, select: { id: true } });
  return { ...account, password: PASSWORD };
}

/** An account with the password above. */
export async function person(app: TestApp, options: AccountOptions = {}): Promise<Person> {
  return withHash(app, await hashed, options);
}

/** The same, logged in. A log-in would replace the cheap hash by one as they are made. */
export async function visitor(app: TestApp, options: AccountOptions = {}): Promise<Visitor> {
  const passwordHash = cheapHash();
  const account = await withHash(app, passwordHash, options);
  const opened = await openSession(app.database, { userId: account.id, passwordHash, userAgent: null });
  if (opened === undefined) throw new Error('no session was opened');
  return { ...account, cookie: `${SESSION_COOKIE}=${opened.sessionId}` };
}

/** Logs in once more. */
export async function freshCookie(app: Pick<TestApp, 'fetch'>, email: string): Promise<string> {
  const response = await login(app, { email, password: PASSWORD });
  if (response.status !== 200) throw new Error(`the login was answered with ${response.status}`);
  return cookieOf(response);
}

/** A GraphQL request with a session's cookie. */
export function gqlAs(
  app: TestApp,
  cookie: string,
  query: string,
  {
    headers = {},
    variables = {},
  }: { headers?: Record<string, string>; variables?: Record<string, unknown> } = {},
): Promise<GraphQLResponse> {
  return app.gql(query, { headers: { cookie, ...headers }, variables });
}
