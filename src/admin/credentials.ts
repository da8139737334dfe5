import { findAccount } from '../auth/account/store.ts';
import { isRevocable, revokeToken } from '../auth/jwt/blocklist.ts';
import { sessionsEnd } from '../auth/session/store.ts';
import type { Queryable } from '../platform/db/statement.ts';
import type { AdminCommand } from './command.ts';
import { AdminError } from './output.ts';

async function endSessions(db: Queryable, email: string) {
  const { id } = await findAccount(db, email);
  const [gone] = await db.query(sessionsEnd.all, [[id]]);
  return { id, revoked: gone?.ended ?? 0 };
}

/** Idempotent: revoking a token again succeeds. */
async function endToken(db: Queryable, jti: string) {
  if (!isRevocable(jti)) throw new AdminError('A jti has 1 to 255 characters.');
  await revokeToken(db, { jti });
  return { jti, revoked: true };
}

export const sessionCommands: AdminCommand = {
  name: 'session',
  description: 'manages sessions',
  define(session, run) {
    session
      .command('revoke')
      .description('ends all sessions of an account and prints their number')
      .requiredOption('--user <email>', 'the account')
      .action(({ user }: { user: string }) => run(({ database }) => endSessions(database, user)));
  },
};

export const tokenCommands: AdminCommand = {
  name: 'token',
  description: 'manages JWTs',
  define(token, run) {
    token
      .command('revoke <jti>')
      .description('revokes the token with this jti before it expires')
      // One jti in 64 begins with a hyphen and must not be read as an option.
      .allowUnknownOption()
      .helpOption('--help')
      .action((jti: string) => run(({ database }) => endToken(database, jti)));
  },
};
