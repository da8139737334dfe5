import type { Clock } from '../../platform/clock.ts';
import { gathered } from '../../platform/db/gathered.ts';
import { statement } from '../../platform/db/statement.ts';
import type { Logger } from '../../platform/log.ts';
import type { FixedOperation, Invalid, Recognizer } from '../authenticate.ts';
import { createLastUse, FRESH } from '../last-use.ts';
import { type LookUpDatabase, lookUpByHash, lookUpById } from '../look-up.ts';
import type { Principal } from '../principal.ts';
import { effectiveScopes, type Role } from '../scopes.ts';
import { hashSecret } from '../secret-format.ts';
import { touch } from '../touch.ts';
import { IDLE_END, STREAM_TOKEN } from './store.ts';

interface UseRow {
  readonly id: string;
  /** Whether its last use was stored so recently that it need not be stored again. */
  readonly fresh: boolean;
  /** Expired by the database's clock. */
  readonly ended: boolean;
}

interface TokenRow extends UseRow {
  readonly hash: Uint8Array;
  readonly userId: string;
  readonly kind: Principal['kind'];
  readonly credentialId: string | null;
  readonly clientId: string;
  readonly role: Role;
  readonly scopes: string[];
  readonly credentialExpiresAt: Date | null;
  readonly credentialIssuedAt: Date | null;
  readonly operation: string;
}

const USE = `id, last_used_at > now() - ${FRESH} AS "fresh", expires_at <= now() AS "ended"`;
const FIND_BY_HASH = statement<TokenRow>(
  'stream_tokens_by_hash',
  `SELECT ${USE}, hash, user_id AS "userId", credential_kind AS "kind", credential_id AS "credentialId", client_id AS "clientId",
     role, scopes, credential_expires_at AS "credentialExpiresAt", credential_issued_at AS "credentialIssuedAt", operation
   FROM stream_tokens WHERE hash = ANY($1::bytea[])`,
);
const FIND_BY_ID = statement<UseRow>(
  'stream_tokens_by_id',
  `SELECT ${USE} FROM stream_tokens WHERE id = ANY($1::uuid[])`,
);
const TOUCH = touch(
  'stream_tokens_touch',
  'stream_tokens',
  `last_used_at = now(), expires_at = LEAST(${IDLE_END}, ends_at)`,
  'last_used_at < now() AND expires_at > now()',
);

const unknown = (accountId?: string): Invalid => ({
  outcome: 'invalid',
  kind: 'stream-token',
  reason: 'The stream token is unknown, expired or revoked, or the credentials behind it have ended.',
  accountId,
});

export interface StreamTokensOptions {
  readonly database: LookUpDatabase;
  readonly clock: Clock;
  readonly log: Logger;
  /** The principal behind a token as it is now; undefined if its credentials have ended. */
  readonly renew: (principal: Principal) => Promise<Principal | undefined>;
}

/** Recognizes stream tokens. Each look-up asks the database, so a revoked token is refused at once. */
export interface StreamTokens extends Recognizer {
  /** Whether the token behind an open stream still holds. An open stream counts as use. Throws DatabaseError. */
  holds(id: string): Promise<boolean>;
}

function principalOf(row: TokenRow): Principal {
  const { kind, userId, role, scopes, clientId, credentialId, credentialExpiresAt, credentialIssuedAt } = row;
  return {
    kind,
    userId,
    role,
    scopes: effectiveScopes(scopes, role),
    clientId,
    credentialId: credentialId ?? undefined,
    rateLimit: undefined,
    expiresAtMs: credentialExpiresAt?.getTime(),
    ...(credentialIssuedAt === null ? {} : { issuedAtMs: credentialIssuedAt.getTime() }),
  };
}

export function createStreamTokens({ database, clock, log, renew }: StreamTokensOptions): StreamTokens {
  const noteUse = createLastUse({
    clock,
    log,
    what: 'a stream token',
    store: gathered(async (ids: readonly string[]) => {
      await database.query(TOUCH, [ids]);
      return ids;
    }),
  });
  const findByHash = lookUpByHash(database, FIND_BY_HASH);
  const findById = lookUpById(database, FIND_BY_ID);

  return {
    async resolve({ place, value }) {
      if (place !== 'stream-token') return { outcome: 'not-mine' };
      if (!STREAM_TOKEN.isWellFormed(value)) return unknown();
      const row = await findByHash(hashSecret(value));
      if (row === undefined || row.ended) return unknown(row?.userId);
      const behind = await renew(principalOf(row));
      if (behind === undefined) return unknown(row.userId);
      const { id, fresh } = row;
      return {
        outcome: 'valid',
        principal: { ...behind, streamTokenId: id },
        operation: JSON.parse(row.operation) as FixedOperation,
        used: () => noteUse(id, fresh),
      };
    },
    async holds(id) {
      const row = await findById(id);
      if (row === undefined || row.ended) return false;
      noteUse(id, row.fresh);
      return true;
    },
  };
}
