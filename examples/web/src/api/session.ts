import { answerOf, request } from './client.ts';
import { problemOf, RequestFailed } from './problem.ts';

export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

interface SessionAnswer {
  readonly user: User | null;
}

async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await request(path, init);
  if (response.ok) return response;
  const { errors = [] } = await answerOf(response.clone());
  throw new RequestFailed(problemOf(response.status, response.headers, errors));
}

/** Who is signed in, or null. Throws RequestFailed. */
export async function whoAmI(): Promise<User | null> {
  const { user }: SessionAnswer = await (await send('/login')).json();
  return user;
}

/** The last logout. Its answer takes the cookie away, also one that a login has brought meanwhile. */
let leaving: Promise<unknown> = Promise.resolve();

/** Throws RequestFailed: `invalid` for a wrong e-mail or password. */
export async function logIn(email: string, password: string): Promise<User> {
  await leaving;
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  };
  const response = await send('/login', init).catch((error: unknown) => {
    if (!(error instanceof RequestFailed) || error.problem.kind !== 'signed-out') throw error;
    throw new RequestFailed({ kind: 'invalid', message: 'The e-mail or the password is wrong.' });
  });
  // In development, the service says why the browser drops the cookie (docs/authentication.md).
  const warning = response.headers.get('x-session-warning');
  if (warning !== null) throw new RequestFailed({ kind: 'unexpected', message: warning });
  const { user }: SessionAnswer = await response.json();
  if (user === null) throw new Error('a login returned no user');
  return user;
}

/** Throws RequestFailed. */
export async function logOut(): Promise<void> {
  const sent = send('/logout', { method: 'POST' });
  leaving = sent.catch(() => undefined);
  await sent;
}
