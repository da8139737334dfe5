import { answerOf, request } from './client.ts';
import { problemOf, RequestFailed } from './problem.ts';

export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await request(path, init);
  if (response.ok) return response;
  const { errors = [] } = await answerOf(response.clone());
  throw new RequestFailed(problemOf(response.status, response.headers, errors));
}

/** A proxy, or the server of another site, may answer with something else. */
async function userIn(response: Response): Promise<User | null> {
  const { user } = await answerOf(response);
  if (user === undefined) throw new RequestFailed(problemOf(response.status, response.headers, []));
  return user as User | null;
}

/** Who is signed in, or null. Throws RequestFailed. */
export async function whoAmI(): Promise<User | null> {
  return userIn(await send('/login'));
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
    throw new RequestFailed({ kind: 'invalid', message: 'The email address or the password is wrong.' });
  });
  // In development, the service says why the browser drops the cookie (docs/authentication.md).
  const warning = response.headers.get('x-session-warning');
  if (warning !== null) throw new RequestFailed({ kind: 'unexpected', message: warning });
  const user = await userIn(response);
  if (user === null) throw new Error('a login returned no user');
  return user;
}

/** Throws RequestFailed. */
export async function logOut(): Promise<void> {
  const sent = send('/logout', { method: 'POST' });
  leaving = sent.catch(() => undefined);
  await sent;
}
