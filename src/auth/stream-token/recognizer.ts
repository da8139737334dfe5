import type { FixedOperation, Resolver } from '../authenticate.ts';
import type { Principal } from '../principal.ts';
import { effectiveScopes, type Role } from '../scopes.ts';
import { type SecretRow, type SecretServices, storedSecrets } from '../stored-secret.ts';
import { IDLE_END, STREAM_TOKEN } from './store.ts';

interface TokenRow extends SecretRow {
  readonly kind: string;
  readonly credentialId: string | null;
  readonly clientId: string;
  readonly role: Role;
  readonly scopes: string[];
  readonly credentialExpiresAt: Date | null;
  readonly credentialIssuedAt: Date | null;
  readonly credentialKeyId: string | null;
  readonly operation: string;
}

export interface StreamTokensOptions extends SecretServices {
  /** The principal behind a token as it is now; undefined if its credentials have ended. */
  readonly renew: (principal: Principal) => Promise<Principal | undefined>;
}

/** Recognizes stream tokens. Each look-up asks the database, so a revoked token is refused at once. */
export interface StreamTokens extends Resolver {
  /** Whether the token behind an open stream still holds. An open stream counts as use. Throws DatabaseError. */
  holds(id: string): Promise<boolean>;
}

function principalOf(row: TokenRow): Principal {
  const { kind, userId, role, scopes, clientId, credentialId, credentialExpiresAt, credentialIssuedAt } = row;
  const { credentialKeyId } = row;
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
    ...(credentialKeyId === null ? {} : { keyId: credentialKeyId }),
  };
}

export function createStreamTokens({ renew, ...services }: StreamTokensOptions): StreamTokens {
  const tokens = storedSecrets<SecretRow, TokenRow>(services, {
    kind: 'stream-token',
    what: 'a stream token',
    table: 'stream_tokens',
    usedAt: 'last_used_at',
    prolongedTo: `LEAST(${IDLE_END}, ends_at)`,
    ended: 's.expires_at <= now()',
    columns: [],
    columnsOfSecret: [
      's.credential_kind AS "kind", s.credential_id AS "credentialId", s.client_id AS "clientId", s.role, s.scopes',
      's.credential_expires_at AS "credentialExpiresAt", s.credential_issued_at AS "credentialIssuedAt"',
      's.credential_key_id AS "credentialKeyId", s.operation',
    ],
    refusal: 'The stream token is unknown, expired or revoked, or the credentials behind it have ended.',
  });

  return {
    async resolve({ place, value }) {
      if (place !== 'stream-token') return { outcome: 'not-mine' };
      const row = STREAM_TOKEN.isWellFormed(value) ? await tokens.find(value) : undefined;
      const behind = row === undefined || row.ended ? undefined : await renew(principalOf(row));
      if (row === undefined || behind === undefined) return tokens.refused(row);
      return {
        outcome: 'valid',
        principal: { ...behind, streamTokenId: row.id },
        operation: JSON.parse(row.operation) as FixedOperation,
        used: () => tokens.noteUse(row),
      };
    },
    async holds(id) {
      const row = await tokens.holding(id);
      if (row !== undefined) tokens.noteUse(row);
      return row !== undefined;
    },
  };
}
