import type { PrismaClient } from '../../generated/prisma/client.ts';
import type { Database } from '../../platform/db/database.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import { newId } from '../../platform/uuid.ts';
import { LOCK_ACCOUNT } from '../account/lock.ts';
import type { FixedOperation } from '../authenticate.ts';
import type { Principal } from '../principal.ts';
import { hashSecret, secretFormat } from '../secret-format.ts';

/** Contract section 9, in SQL by the database's clock: 1 hour after the last use, 24 at most. */
export const IDLE_END = "now() + interval '1 hour'";
const ABSOLUTE_END = "now() + interval '24 hours'";
/** Contract section 9: tokens of an account that are still good. */
export const MAX_LIVE_TOKENS = 100;

export const STREAM_TOKEN = secretFormat('cgs_');

/** The account has as many tokens as it may. */
export class StreamTokenLimitError extends Error {
  constructor() {
    super(`An account may have at most ${MAX_LIVE_TOKENS} stream tokens.`);
    this.name = 'StreamTokenLimitError';
  }
}

/** Tokens whose credentials have ended are worthless and do not count. OAuth tokens name their jti first. */
const COUNT_LIVE = statement<{ live: number }>(
  'stream_tokens_live',
  `SELECT count(*)::int AS "live" FROM stream_tokens t WHERE t.user_id = $1 AND t.expires_at > now() AND CASE t.credential_kind
     WHEN 'session' THEN EXISTS (SELECT FROM sessions s WHERE s.id = t.credential_id::uuid AND s.expires_at > now())
     WHEN 'api-key' THEN EXISTS (SELECT FROM api_keys k WHERE k.id = t.credential_id::uuid AND k.revoked_at IS NULL)
     WHEN 'oauth' THEN NOT EXISTS (SELECT FROM revoked_tokens r WHERE r.jti = split_part(t.credential_id, ' ', 1))
     ELSE NOT EXISTS (SELECT FROM revoked_tokens r WHERE r.jti = t.credential_id) END`,
);
const INSERT = statement<{ expiresAt: Date }>(
  'stream_token_insert',
  `INSERT INTO stream_tokens (id, user_id, hash, credential_kind, credential_id, client_id, role, scopes, credential_expires_at,
     operation, created_at, last_used_at, ends_at, expires_at)
   SELECT $1, $2, $3, $4, $5, $6, $7::"Role", $8, $9, $10, now(), now(), e.ends_at, LEAST(${IDLE_END}, e.ends_at)
   FROM (SELECT LEAST(${ABSOLUTE_END}, $9::timestamptz) AS ends_at) e RETURNING expires_at AS "expiresAt"`,
);

async function insert(transaction: Queryable, principal: Principal, operation: FixedOperation) {
  const { kind, userId, credentialId = null, clientId, role, scopes, expiresAtMs } = principal;
  await transaction.query(LOCK_ACCOUNT, [userId]);
  const [count] = await transaction.query(COUNT_LIVE, [userId]);
  if (count !== undefined && count.live >= MAX_LIVE_TOKENS) throw new StreamTokenLimitError();
  const token = STREAM_TOKEN.generate();
  const [row] = await transaction.query(INSERT, [
    newId(),
    userId,
    hashSecret(token),
    kind,
    credentialId,
    clientId,
    role,
    [...scopes],
    expiresAtMs === undefined ? null : new Date(expiresAtMs),
    JSON.stringify(operation),
  ]);
  if (row === undefined) throw new Error('an inserted row was not returned');
  return { token, expiresAt: row.expiresAt };
}

export interface IssuedToken {
  /** Stored nowhere, only its hash. */
  readonly token: string;
  /** When it ends unless it is used before. */
  readonly expiresAt: Date;
}

/**
 * Issues a token that opens a subscription with the credentials of a principal. The limit is exact under
 * concurrency. Throws StreamTokenLimitError, DatabaseError.
 */
export async function issueStreamToken(
  database: Pick<Database, 'unitOfWork'>,
  principal: Principal,
  operation: FixedOperation,
): Promise<IssuedToken> {
  const work = database.unitOfWork();
  try {
    const issued = await insert(work, principal, operation);
    await work.commit();
    return issued;
  } catch (error) {
    await work.rollback();
    throw error;
  }
}

/** Ends a token. False if there is no such token. */
export async function revokeStreamToken(prisma: PrismaClient, id: string): Promise<boolean> {
  const { count } = await prisma.streamToken.deleteMany({ where: { id } });
  return count > 0;
}
