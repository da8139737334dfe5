import { audit, OPERATOR } from '../audit/audit.ts';
import { findAccount } from '../auth/account/store.ts';
import { isRevocable, revokeToken } from '../auth/jwt/blocklist.ts';
import { sessionsEnd } from '../auth/session/store.ts';
import type { Database } from '../platform/db/database.ts';
import type { AdminCommand } from './command.ts';
import { AdminError } from './output.ts';

function endSessions(database: Database, email: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const { id } = await findAccount(work, email);
    const [gone] = await work.query(sessionsEnd.all, [[id]]);
    const revoked = gone?.ended ?? 0;
    await audit(work, 'session.revoke', id, { account: id, ended: { sessions: revoked } });
    return { id, revoked };
  });
}

/** Idempotent: revoking a token again succeeds. */
async function endToken(database: Database, jti: string) {
  if (!isRevocable(jti)) throw new AdminError('A jti has 1 to 255 characters.');
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    await revokeToken(work, { jti });
    await audit(work, 'token.revoke', jti);
    return { jti, revoked: true };
  });
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
