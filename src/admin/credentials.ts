import type { Command } from 'commander';
import { findAccount } from '../auth/account/store.ts';
import { isRevocable, revokeToken } from '../auth/jwt/blocklist.ts';
import { revokeSessionsOf } from '../auth/session/store.ts';
import type { Queryable } from '../platform/db/statement.ts';
import { AdminError } from './output.ts';
import type { RunCommand } from './run-command.ts';

async function endSessions(db: Queryable, email: string) {
  const { id } = await findAccount(db, email);
  return { id, revoked: await revokeSessionsOf(db, id) };
}

/** Idempotent: revoking a token again succeeds. */
async function endToken(db: Queryable, jti: string) {
  if (!isRevocable(jti)) throw new AdminError('A jti has 1 to 255 characters.');
  await revokeToken(db, { jti });
  return { jti, revoked: true };
}

/** `session revoke`, `token revoke`. */
export function addCredentialCommands(program: Command, run: RunCommand): void {
  program
    .command('session')
    .description('manages sessions')
    .command('revoke')
    .description('ends all sessions of an account and prints their number')
    .requiredOption('--user <email>', 'the account')
    .action(({ user }: { user: string }) => run(({ database }) => endSessions(database, user)));

  program
    .command('token')
    .description('manages JWTs')
    .command('revoke <jti>')
    .description('revokes the token with this jti before it expires')
    // One jti in 64 begins with a hyphen and must not be read as an option.
    .allowUnknownOption()
    .helpOption('--help')
    .action((jti: string) => run(({ database }) => endToken(database, jti)));
}
