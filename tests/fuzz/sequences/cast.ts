import { createAccount } from '../../../src/auth/accounts.ts';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { hashPassword } from '../../../src/auth/passwords.ts';
import type { Role, Scope } from '../../../src/auth/scopes.ts';
import { openSession } from '../../../src/auth/sessions.ts';
import { statement } from '../../../src/database/statement.ts';
import { scopesOf } from '../../model/permissions.ts';
import { isMade } from '../../model/state.ts';
import type { KeyRow, SessionRow } from '../../model/tables.ts';
import { PASSWORD } from '../../support/credentials/session.ts';
import type { Credential, Person, State } from './state.ts';
import type { World } from './world.ts';

const hashed = hashPassword(PASSWORD);
let made = 0;

const SET_HASH = statement<never>('test_set_hash', 'UPDATE users SET password_hash = $2 WHERE id = $1');
export const SESSIONS_OF = statement<{ id: string }>(
  'test_sessions',
  'SELECT id FROM sessions WHERE user_id = $1',
);

/** Makes an account with a password. */
async function makePerson({ database }: World, role: Role): Promise<Person> {
  made += 1;
  const email = `person${made}-${process.pid}-${Date.now()}@example.com`;
  const { id } = await createAccount(database, { name: 'Person', email, role });
  await database.query(SET_HASH, [id, await hashed]);
  return { id, name: 'Person', handle: null, bio: '', avatarUrl: null, email, createdAt: 0, role };
}

/** A session as far as sequences care. */
export const sessionRow = (id: string, userId: string): SessionRow => ({
  ...{ id, userId, userAgent: null, createdAt: 0, lastSeenAt: 0 },
});

/** Whom the credentials are for, which kind they are and what they may: the first ones are used most. */
const CREDENTIALS: readonly [account: number, kind: Credential['kind'], scopes?: readonly Scope[]][] = [
  [0, 'key', ['posts:read', 'posts:write', 'comments:write', 'drafts:read', 'drafts:write', 'users:read']],
  [0, 'session'],
  [0, 'key', ['posts:read']],
  [0, 'key', ['posts:write']],
  [0, 'key', ['posts:write', 'comments:write']],
  [1, 'key', ['posts:read', 'posts:write', 'comments:write']],
  [1, 'session'],
  [2, 'key', ['posts:read', 'posts:write', 'comments:write', 'drafts:write', 'users:read', 'users:email']],
  [2, 'key', ['posts:read', 'posts:write', 'comments:write']],
  [2, 'session'],
  [0, 'session'],
];

/** The account that watches: its key is past all limits. */
export interface Watcher {
  readonly key: string;
}

/** New accounts with new credentials: sequences do not meet. */
export async function makeCast(world: World): Promise<{ state: State; watcher: Watcher }> {
  const { database } = world;
  const users: Person[] = [];
  for (const role of ['member', 'member', 'admin'] as const) users.push(await makePerson(world, role));
  const credentials: Credential[] = [];
  const keys: KeyRow[] = [];
  const sessions: SessionRow[] = [];
  for (const [account, kind, scopes] of CREDENTIALS) {
    const { id: userId, role } = users[account] as Person;
    const held = scopes ?? scopesOf(role);
    if (kind === 'key') {
      const { id, key } = await createApiKey(database, { userId, name: 'k', scopes: held });
      credentials.push({ kind, id, account, scopes: held, secret: key });
      keys.push({ id, userId, name: 'k', prefix: '', scopes: held, createdAt: 0, expiresAt: null });
    } else {
      const opened = await openSession(database, { userId, passwordHash: await hashed, userAgent: null });
      const rows = await database.query(SESSIONS_OF, [userId]);
      const row = rows.find(({ id }) => credentials.every((one) => one.id !== id));
      if (opened === undefined || row === undefined) throw new Error('no session was opened');
      const secret = `session_id=${opened.sessionId}`;
      credentials.push({ kind, id: row.id, account, scopes: held, secret });
      sessions.push(sessionRow(row.id, userId));
    }
  }
  const { id: userId } = await makePerson(world, 'member');
  const great = { burst: 1_000_000, perSecond: 1_000_000 };
  const { key } = await createApiKey(database, {
    userId,
    name: 'k',
    scopes: ['posts:read', 'posts:write', 'users:read'],
    ...great,
  });
  const state: State = {
    ...{
      users,
      posts: [],
      comments: [],
      formerSlugs: [],
      drafts: [],
      keys,
      sessions,
      announced: [],
      changes: [],
      made: 0,
    },
    ...{ commentIds: [], credentials, stored: {}, announcedIn: [], buckets: {}, elapsedMs: 0 },
  };
  return { state, watcher: { key } };
}

/** How a credential is sent. */
export function sentAs({ kind, secret }: Credential): { readonly key?: string; readonly cookie?: string } {
  if (secret === undefined) throw new Error('a credential whose secret nobody has seen');
  return kind === 'key' ? { key: secret } : { cookie: secret };
}

/** Those that can be used, the revoked ones among them. */
export function usable({ credentials }: State): readonly Credential[] {
  return credentials.filter(({ secret }) => secret !== undefined && !isMade(secret));
}

/** One of those, of an account where that is given. */
export function who(state: State, by: number, account?: number): Credential {
  const all = usable(state).filter((one) => account === undefined || one.account === account);
  const found = all[by % all.length];
  if (found === undefined) throw new Error('nobody is there');
  return found;
}
