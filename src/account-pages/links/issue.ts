import { type AuditDetail, audit } from '../../audit/audit.ts';
import { insertAccount, type NewAccount, readyAccount } from '../../auth/account/store.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { OperatorError } from '../../platform/operator-error.ts';
import { type IssuedLink, issueLink, type LinkKind } from './link-store.ts';

/** A link that an account cannot have. The message is meant for whoever asked for it. */
export class LinkError extends OperatorError {}

/**
 * Issues a link for an account that the transaction has locked, and records that under `action`. Throws LinkError if the
 * account is disabled, DatabaseError.
 */
export async function recordedLink(
  work: UnitOfWork,
  action: string,
  account: string,
  kind: LinkKind,
  detail: AuditDetail = {},
): Promise<IssuedLink> {
  const issued = await issueLink(work, account, kind);
  if (issued === undefined) throw new LinkError('The account is disabled: a link would be of no use.');
  await audit(work, action, account, { account, ...detail });
  return issued;
}

export interface Invited {
  readonly id: string;
  readonly link: IssuedLink;
}

/**
 * Creates an account that has no password, and a link to set one. Throws AccountError if the e-mail is taken or a rule is
 * broken, DatabaseError.
 */
export async function invite(
  work: UnitOfWork,
  action: string,
  account: Omit<NewAccount, 'password'>,
): Promise<Invited> {
  const { id } = await insertAccount(work, await readyAccount(work, account));
  const { role } = account;
  return { id, link: await recordedLink(work, action, id, 'invite', { role }) };
}
