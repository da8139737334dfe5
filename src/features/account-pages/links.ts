import { insertAccount, type NewAccount, readyAccount } from '../../auth/accounts.ts';
import { type AuditDetail, audit } from '../../auth/audit.ts';
import { defineExportSection, type ExportSection } from '../../auth/data-export.ts';
import { type CredentialRevocation, deleteRows } from '../../auth/revocation.ts';
import { hashSecret, secretFormat } from '../../auth/secrets.ts';
import { deletion } from '../../database/jobs.ts';
import { type Queryable, statement } from '../../database/statement.ts';
import type { UnitOfWork } from '../../database/unit-of-work.ts';
import { OperatorError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';

/** The kind chooses the wording of the page. Both kinds set a password. */
type LinkKind = 'invite' | 'reset';

const LINK_TOKEN = secretFormat('cgl_');

/** OWASP's forgotten password cheat sheet requires a short lifetime and a single use. */
const LIFETIME = "interval '1 day'";

/** A new link to send to an account owner. The database stores only the hash of its token. */
export interface IssuedLink {
  readonly token: string;
  readonly expiresAt: Date;
}

/** An account has at most one link. A new link replaces the earlier one. */
const INSERT = statement<{ expiresAt: Date }>(
  'account_link_insert',
  `INSERT INTO account_links (user_id, id, kind, hash, email_key, created_at, expires_at)
   SELECT id, $2, $3, $4, email_key, now(), now() + ${LIFETIME} FROM users
   WHERE id = $1 AND email_key IS NOT NULL AND disabled_at IS NULL AND deleted_at IS NULL
   ON CONFLICT (user_id) DO UPDATE SET id = excluded.id, kind = excluded.kind, hash = excluded.hash,
     email_key = excluded.email_key, created_at = excluded.created_at, expires_at = excluded.expires_at
   RETURNING expires_at AS "expiresAt"`,
);

export interface Link {
  readonly id: string;
  readonly kind: LinkKind;
  readonly account: string;
  readonly name: string;
  readonly email: string;
}

/**
 * A link is void once its account is disabled, is in deletion or has another email address. Each use checks
 * this condition.
 */
const VALID_LINK_SQL = `l.hash = $1 AND l.expires_at > now() AND u.email_key = l.email_key AND u.disabled_at IS NULL AND u.deleted_at IS NULL`;

const FIND = statement<Link>(
  'account_link_find',
  `SELECT l.id, l.kind, u.id AS "account", u.name, u.email FROM account_links l JOIN users u ON u.id = l.user_id WHERE ${VALID_LINK_SQL}`,
);

/**
 * Finds a valid link without using it up.
 * @throws {DatabaseError}
 */
export async function findLink(db: Queryable, token: string): Promise<Link | undefined> {
  return LINK_TOKEN.isWellFormed(token) ? (await db.query(FIND, [hashSecret(token)]))[0] : undefined;
}

const USE = statement<{ id: string }>(
  'account_link_use',
  `WITH used AS (
     DELETE FROM account_links l USING users u WHERE u.id = l.user_id AND ${VALID_LINK_SQL} RETURNING l.id, l.user_id
   )
   UPDATE users u SET email_verified_at = now() FROM used WHERE u.id = used.user_id RETURNING used.id`,
);

/**
 * Uses a link up, which verifies the email address. The account is locked before, so that only one of two concurrent
 * requests succeeds.
 * @returns false if the link is not valid any more
 * @throws {DatabaseError}
 */
export async function consumeLink(work: UnitOfWork, token: string): Promise<boolean> {
  return (await work.query(USE, [hashSecret(token)])).length > 0;
}

/**
 * Every new password revokes the account's link. So does disabling the account or changing its role, because
 * the link's issuer had permission for the earlier state of the account.
 */
export const linkRevocation: CredentialRevocation = {
  kind: 'links',
  words: 'links to set a password',
  onPasswordChange: true,
  onAccountChange: true,
  ...deleteRows('account_links', 'user_id'),
};

export const expiredLinks = deletion('account_links', {
  table: 'account_links',
  key: 'user_id',
  condition: 'expires_at <= now()',
});

export const linkExportSections: readonly ExportSection[] = [
  defineExportSection({
    name: 'links',
    tables: ['account_links'],
    alias: 'l',
    key: [['user_id', 'uuid', '00000000-0000-0000-0000-000000000000']],
    columns: 'l.kind, l.created_at AS "createdAt", l.expires_at AS "expiresAt"',
  }),
];

/** The account cannot get a link. The message is shown to the requester. */
export class LinkError extends OperatorError {}

/**
 * The transaction has locked the account (decisions/0014-lock-ordering.md). The audit log gets `action`.
 * @throws {LinkError} if the account is disabled
 * @throws {DatabaseError}
 */
export async function recordedLink(
  work: UnitOfWork,
  action: string,
  account: string,
  kind: LinkKind,
  detail: AuditDetail = {},
): Promise<IssuedLink> {
  const token = LINK_TOKEN.generate();
  const [issued] = await work.query(INSERT, [account, newId(), kind, hashSecret(token)]);
  if (issued === undefined)
    throw new LinkError(
      'The account is disabled, so it cannot have a link. (Operator: enable the account first.)',
    );
  await audit(work, action, account, { account, ...detail });
  return { token, ...issued };
}

/**
 * @throws {AccountError} if the email address is taken or a rule is broken
 * @throws {DatabaseError}
 */
export async function invite(work: UnitOfWork, action: string, account: Omit<NewAccount, 'password'>) {
  const { id } = await insertAccount(work, await readyAccount(work, account));
  const { role } = account;
  return { id, link: await recordedLink(work, action, id, 'invite', { role }) };
}
