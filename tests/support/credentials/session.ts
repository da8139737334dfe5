import { hashPassword } from '../../../src/auth/password.ts';
import type { Account, TestApp } from '../app.ts';
import type { Answer } from '../graphql.ts';

export const PASSWORD = 'correct horse battery staple';
const hashed = hashPassword(PASSWORD);

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

/** An account with the password above. */
export async function person(app: TestApp, options: Parameters<TestApp['account']>[0] = {}): Promise<Person> {
  const account = await app.account(options);
  await app.prisma.user.update({
    where: { id: account.id },
    data: { passwordHash: await hashed },
    select: { id: true },
  });
  return { ...account, password: PASSWORD };
}

/** The same, logged in. */
export async function visitor(
  app: TestApp,
  options: Parameters<TestApp['account']>[0] = {},
): Promise<Visitor> {
  const account = await person(app, options);
  return { ...account, cookie: await freshCookie(app, account.email) };
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
): Promise<Answer> {
  return app.gql(query, { headers: { cookie, ...headers }, variables });
}
