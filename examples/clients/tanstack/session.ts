export interface User {
  readonly id: string;
  readonly name: string;
}

interface Answer {
  readonly user?: User | null;
  readonly errors?: readonly { readonly message: string }[];
}

async function send(url: string, init: RequestInit): Promise<User | null> {
  const response = await fetch(url, { ...init, credentials: 'include' }).catch(() => undefined);
  // A proxy answers with a page of its own where the service is down.
  const answer: Answer | undefined =
    response?.status === 204 ? {} : await response?.json().catch(() => undefined);
  if (response === undefined || answer === undefined) throw new Error('The service does not answer.');
  const { user = null, errors } = answer;
  if (errors !== undefined) throw new Error(errors.map(({ message }) => message).join('\n'));
  // In development, the service says why a browser will drop the session cookie.
  const warning = response.headers.get('x-session-warning');
  if (warning !== null) throw new Error(warning);
  return user;
}

/** The user who is signed in, or null. `origin` is that of the service. */
export function whoAmI(origin: string): Promise<User | null> {
  return send(`${origin}/login`, {});
}

export function signIn(origin: string, email: string, password: string): Promise<User | null> {
  const headers = { 'content-type': 'application/json' };
  return send(`${origin}/login`, { method: 'POST', headers, body: JSON.stringify({ email, password }) });
}

export async function signOut(origin: string): Promise<void> {
  await send(`${origin}/logout`, { method: 'POST' });
}
