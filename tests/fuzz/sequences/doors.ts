import { scopesOf } from '../../model/permissions.ts';
import { cookieOf, login, PASSWORD } from '../../support/credentials/session.ts';
import { SESSIONS_OF, sessionRow, usable } from './cast.ts';
import { bucketsOf, takes } from './limits.ts';
import { type Credential, type State, withContent } from './state.ts';
import { Violation } from './violation.ts';
import type { World } from './world.ts';

/** Logs somebody in once more. The states that explain what came of it. Throws Violation where none does. */
export async function logIn(
  { instances, database, limits }: World,
  states: readonly State[],
  instance: number,
  account: number,
  redisLost: () => boolean,
): Promise<State[]> {
  const [state] = states;
  const person = state?.users[account];
  const service = instances[instance];
  if (state === undefined || person === undefined || service === undefined)
    throw new Error('nobody is there');
  const response = await login(service, { email: person.email, password: PASSWORD });
  const after = states.flatMap((before) =>
    [...takes(before, limits, bucketsOf(limits, instance, 'address'), redisLost())]
      .filter(({ allowed }) => response.status === (allowed ? 200 : 429))
      .map((taken) => taken.state),
  );
  if (after.length === 0)
    throw new Violation(`a login is answered with ${response.status}`, [await response.text()]);
  if (response.status !== 200) return after;
  const known = state.credentials.map(({ id }) => id);
  const rows = await database.query(SESSIONS_OF, [person.id]);
  const made = rows.find(({ id }) => !known.includes(id));
  if (made === undefined) throw new Violation('a login makes no session', [await response.text()]);
  const scopes = scopesOf(person.role);
  const fresh: Credential = { kind: 'session', id: made.id, account, scopes, secret: cookieOf(response) };
  const row = sessionRow(made.id, person.id);
  return after.map((one) => ({
    ...one,
    credentials: [...one.credentials, fresh],
    sessions: [...one.sessions, row],
  }));
}

/**
 * Ends a session as its browser does, for a token. The states that explain what came of it. Throws Violation where none does.
 */
export async function logOut(
  { instances, limits }: World,
  states: readonly State[],
  instance: number,
  reference: number,
  move: number,
  redisLost: () => boolean,
): Promise<readonly State[]> {
  const sessions = states
    .slice(0, 1)
    .flatMap((state) => usable(state).filter(({ kind }) => kind === 'session'));
  const session = sessions[sessions.length - 1 - (reference % sessions.length)];
  if (session?.secret === undefined) return states;
  const response = await instances[instance]?.fetch('/logout', {
    method: 'POST',
    headers: { cookie: session.secret },
  });
  const hasEnded = session.endedMs !== undefined;
  const asked = bucketsOf(limits, instance, hasEnded ? 'failed' : session);
  const after = states.flatMap((before) =>
    [...takes(before, limits, asked, redisLost())]
      // Of failures an address has a bucket of its own, which may be empty.
      .filter(({ allowed }) => response?.status === (allowed ? 204 : 429) || (hasEnded && allowed))
      .map((taken) => taken.state),
  );
  if (after.length === 0 || ![204, 429].includes(response?.status ?? 0))
    throw new Violation(`a logout is answered with ${response?.status}`, []);
  if (response?.status !== 204) return after;
  return after.map((one) => {
    const sessions = one.sessions.filter(({ id }) => id !== session.id);
    return withContent(one, { ...one, sessions }, move);
  });
}
