import { audit, OPERATOR } from '../audit/audit.ts';
import type { FixedOperation } from '../auth/authenticate.ts';
import { revokeStreamToken } from '../auth/stream-token/store.ts';
import type { Database } from '../platform/db/database.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';
import { isUuid } from '../platform/uuid.ts';
import type { AdminCommand } from './command.ts';
import { AdminError } from './output.ts';

interface Listed {
  readonly id: string;
  readonly user: string;
  readonly credentials: string;
  readonly client: string;
  readonly operation: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
  readonly endsAt: Date;
}

const LIST = statement<Listed>(
  'admin_stream_tokens',
  `SELECT t.id, u.email AS "user", t.credential_kind AS "credentials", t.client_id AS "client", t.operation,
     t.created_at AS "createdAt", t.last_used_at AS "lastUsedAt", t.expires_at AS "expiresAt", t.ends_at AS "endsAt"
   FROM stream_tokens t JOIN users u ON u.id = t.user_id ORDER BY t.created_at, t.id`,
);

async function list(db: Queryable) {
  const tokens = await db.query(LIST, []);
  return tokens.map(({ id, user, credentials, client, operation, ...times }) => {
    const { query, documentId, operationName } = JSON.parse(operation) as FixedOperation;
    return { id, user, credentials, client, query, documentId, operationName, ...times };
  });
}

function revoke(database: Database, id: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const account = isUuid(id) ? await revokeStreamToken(work, id) : undefined;
    if (account === undefined)
      throw new AdminError(`There is no stream token with the id "${id}", or it has already ended.`);
    await audit(work, 'stream-token.revoke', id, { account });
    return { id, revoked: true };
  });
}

/** `stream-token list`, `stream-token revoke`. */
export const streamTokenCommands: AdminCommand = {
  name: 'stream-token',
  description: 'manages stream tokens',
  define(streamToken, run) {
    streamToken
      .command('list')
      .description('lists the tokens and what they open, oldest first')
      .action(() => run(({ database }) => list(database)));

    streamToken
      .command('revoke <id>')
      .description('ends a token with its open streams')
      .action((id: string) => run(({ database }) => revoke(database, id)));
  },
};
