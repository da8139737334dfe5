import {
  formatColumns,
  pickColumns,
  type Queryable,
  type RowOf,
  type Statement,
  statement,
} from '../database/statement.ts';
import { streamTokens } from '../generated/tables.ts';
import { tryLater } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { AccountWriteQueue } from './account-write-queue.ts';
import type { AuthStrategy, ExtractedCredential, FixedOperation, Resolution } from './authenticate.ts';
import type { Principal } from './principal.ts';
import {
  type CredentialRevocation,
  deleteRows,
  deleteSurplus,
  inAccountsSql,
  revocationStatement,
} from './revocation.ts';
import { effectiveScopes } from './scopes.ts';
import {
  FRESH,
  hashSecret,
  type SecretRow,
  type SecretServices,
  secretFormat,
  storedSecrets,
} from './secrets.ts';

/**
 * A token expires 1 hour after its last use, and 24 hours after its creation at the latest (contract: stream
 * tokens).
 */
const IDLE_HOUR = "now() + interval '1 hour'";
const ABSOLUTE_EXPIRY_SQL = "now() + interval '24 hours'";
/** A use is stored at most once a minute (`FRESH`), so the minute is added to the hour. */
const STREAM_TOKEN_IDLE_EXPIRY_SQL = `${IDLE_HOUR} + ${FRESH}`;
/** The limit counts the valid tokens of an account (contract: stream tokens). */
export const MAX_LIVE_TOKENS = 100;
/** JavaScript and PostgreSQL both support dates up to this timestamp. No token lives that long. */
const LATEST_TIMESTAMP_MS = Date.UTC(9999, 0);
const LOCK_WAIT_MS = 2_000;

export const STREAM_TOKEN = secretFormat('cgt_', 'cgs_');

/** Any token may expire soon, so clients of an account with too many tokens wait this long. */
const RETRY_SECONDS = 60;
const tooManyTokens = () =>
  tryLater(
    'RATE_LIMITED',
    `An account may have at most ${MAX_LIVE_TOKENS} stream tokens. Reuse a token, or wait until one expires.`,
    RETRY_SECONDS,
  );

/**
 * Transactions that issue tokens to an account wait for each other, so that each counts the others' tokens. A
 * lock on the account itself would wait for long mutations.
 */
const LOCK = statement<never>(
  'stream_tokens_lock',
  `SELECT pg_advisory_xact_lock(hashtext('stream_tokens'), hashtext($1))`,
);
/**
 * Deletes invalid tokens, so that only valid tokens count. Each strategy only knows credentials of its kind.
 */
const deleteInvalidTokens = (strategies: readonly AuthStrategy[]) =>
  statement<never>(
    'stream_tokens_drop_ended',
    `DELETE FROM stream_tokens t WHERE t.user_id = $1 AND (t.expires_at <= now() OR CASE t.credential_kind
     ${strategies.map(({ kind, invalidCredentialSql }) => `WHEN '${kind}' THEN ${invalidCredentialSql}`).join('\n     ')} ELSE true END)`,
  );
const INSERT = statement<{ expiresAt: Date }>(
  'stream_token_insert',
  `INSERT INTO stream_tokens (id, user_id, hash, credential_kind, credential_id, client_id, role, scopes, credential_expires_at,
     operation, credential_issued_at, credential_key_id, created_at, last_used_at, ends_at, expires_at)
   SELECT $1, $2, $3, $4, $5, $6, $7::"Role", $8, $9, $10, $11, $12, now(), now(), e.ends_at, LEAST(${STREAM_TOKEN_IDLE_EXPIRY_SQL}, e.ends_at)
   FROM (SELECT LEAST(${ABSOLUTE_EXPIRY_SQL}, $9::timestamptz) AS ends_at) e
   WHERE (SELECT count(*) FROM stream_tokens t WHERE t.user_id = $2) < ${MAX_LIVE_TOKENS}
   RETURNING LEAST(${IDLE_HOUR}, ends_at) AS "expiresAt"`,
);

/** @returns null without a timestamp, and for a timestamp that PostgreSQL cannot store */
function storable(ms = Infinity): Date | null {
  return Math.abs(ms) < LATEST_TIMESTAMP_MS ? new Date(ms) : null;
}

async function insert(
  transaction: Queryable,
  deleteInvalid: Statement<never>,
  principal: Principal,
  operation: FixedOperation,
) {
  const { kind, userId, credentialId = null, keyId = null, clientId, role, scopes } = principal;
  await transaction.query(LOCK, [userId]);
  await transaction.query(deleteInvalid, [userId]);
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
    storable(principal.expiresAtMs),
    JSON.stringify(operation),
    storable(principal.issuedAtMs),
    keyId,
  ]);
  if (row === undefined) throw tooManyTokens();
  return { token, expiresAt: row.expiresAt };
}

export interface IssuedToken {
  /** The database stores only the hash of the token. */
  readonly token: string;
  readonly expiresAt: Date;
}

/**
 * The limit is exact under concurrency.
 * @throws RATE_LIMITED
 * @throws {DatabaseError}
 */
type IssueStreamToken = (principal: Principal, operation: FixedOperation) => Promise<IssuedToken>;

export function streamTokenIssuer(
  accountWriteQueue: Pick<AccountWriteQueue, 'transaction'>,
  strategies: readonly AuthStrategy[],
): IssueStreamToken {
  const deleteInvalid = deleteInvalidTokens(strategies);
  return (principal, operation) =>
    accountWriteQueue.transaction(
      principal.userId,
      (work) => insert(work, deleteInvalid, principal, operation),
      {
        lockWaitMs: LOCK_WAIT_MS,
      },
    );
}

const DELETE_TOKEN = statement<{ userId: string }>(
  'stream_token_end',
  'DELETE FROM stream_tokens WHERE id = $1 RETURNING user_id AS "userId"',
);

/**
 * @returns the id of the account; undefined if the token does not exist
 * @throws {DatabaseError}
 */
export async function revokeStreamToken(db: Queryable, id: string): Promise<string | undefined> {
  return (await db.query(DELETE_TOKEN, [id]))[0]?.userId;
}

const KIND = { kind: 'streamTokens', words: 'stream tokens', onPasswordChange: true };

export const streamTokenRevocation: CredentialRevocation = { ...KIND, ...deleteRows('stream_tokens') };

/** @param condition SQL on `stream_tokens t` */
export function revokeStreamTokensWhere(condition: string): CredentialRevocation {
  const rows = `${inAccountsSql('t.user_id')} AND ${condition}`;
  return {
    ...KIND,
    all: revocationStatement('account_end_stream_tokens_of', `DELETE FROM stream_tokens t WHERE ${rows}`),
    surplus: [deleteSurplus('stream_tokens', rows, 'id', 'stream_tokens t')],
  };
}

const credentialColumns = pickColumns(streamTokens, [
  'credentialKind',
  'credentialId',
  'clientId',
  'role',
  'scopes',
  'credentialExpiresAt',
  'credentialIssuedAt',
  'credentialKeyId',
  'operation',
]);

type TokenRow = SecretRow & RowOf<typeof credentialColumns>;

function principalOf(row: TokenRow): Principal {
  const { credentialKind: kind, userId, role, scopes, clientId, credentialId } = row;
  const { credentialExpiresAt, credentialIssuedAt, credentialKeyId } = row;
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

/**
 * Each look-up asks the database, so a revoked token is rejected immediately.
 * @param renew resolves to undefined if the credentials behind the token are revoked or expired
 */
export function createStreamTokens(
  services: SecretServices,
  renew: (principal: Principal) => Promise<Principal | undefined>,
) {
  const tokens = storedSecrets<SecretRow, TokenRow>(services, {
    kind: 'stream-token',
    table: 'stream_tokens',
    usedAt: 'last_used_at',
    prolongedTo: `LEAST(${STREAM_TOKEN_IDLE_EXPIRY_SQL}, ends_at)`,
    invalidSql: 's.expires_at <= now()',
    columns: [],
    columnsOfSecret: [formatColumns(credentialColumns, 's')],
    rejection:
      'The stream token is unknown, or the token or its credentials expired or were revoked. Request a new one.',
  });

  return {
    async resolve({ place, value }: ExtractedCredential): Promise<Resolution> {
      if (place !== 'stream-token') return { outcome: 'not-mine' };
      const row = STREAM_TOKEN.isWellFormed(value) ? await tokens.find(value) : undefined;
      const behind = row === undefined || row.invalid ? undefined : await renew(principalOf(row));
      if (row === undefined || behind === undefined) return tokens.rejected(row);
      return {
        outcome: 'valid',
        principal: { ...behind, streamTokenId: row.id },
        operation: JSON.parse(row.operation) as FixedOperation,
        used: () => tokens.recordUse(row),
      };
    },
    /**
     * An open stream counts as use.
     * @throws {DatabaseError}
     */
    async holds(id: string): Promise<boolean> {
      const row = await tokens.holding(id);
      if (row !== undefined) tokens.recordUse(row);
      return row !== undefined;
    },
  };
}
