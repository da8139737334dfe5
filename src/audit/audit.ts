import { DailyLimitError } from '../platform/daily-limit.ts';
import { type Parameter, type Queryable, statement } from '../platform/db/statement.ts';
import type { Author, UnitOfWork } from '../platform/db/unit-of-work.ts';
import { currentOperator } from './operator.ts';

/** A transaction that knows for whom it is. */
export type AuthoredWork = Queryable & Pick<UnitOfWork, 'author'>;

const COMMAND = 'command';
/** The author of what a command changes. Its entries have an `operator`. */
export const OPERATOR: Author = { actorId: null, via: COMMAND, requestId: null };

/** What is worth knowing of a change: ids, counts and names of the service's own, never texts or e-mails. */
export interface AuditDetail {
  /** The account that the subject belongs to, or is. */
  readonly account?: string | undefined;
  readonly [name: string]: unknown;
}

/** How often an account can change its own credentials on one day. The limit bounds the size of the audit log. */
export const MAX_OWN_PER_DAY = 10_000;
/** The owner of an account can always react to others who use the account, whatever the others have done that day. */
const ALWAYS_ALLOWED: ReadonlySet<string> = new Set(['changePassword', 'revokeEverything']);

const INSERT = statement<never>(
  'audit_insert',
  `INSERT INTO audit_log (actor_id, via, request_id, action, subject, account_id, detail)
   SELECT $1::uuid, $2, $3, $4, s.subject, s.account_id, $7::jsonb
   FROM unnest($5::text[], $6::uuid[]) AS s (subject, account_id)`,
);

/**
 * Returns no row if the actor has made too many changes that day. Concurrent transactions can take one number, so the bound is
 * not exact. Entries beyond the bound have no number, because version 1.0.0 changes an entry with a higher number during a
 * rolling upgrade.
 */
const INSERT_OWN = statement<{ id: string }>(
  'audit_insert_own',
  `INSERT INTO audit_log (actor_id, via, request_id, action, subject, account_id, detail, number)
   SELECT $1::uuid, $2, $3, $4, $5, $6::uuid, $7::jsonb, CASE WHEN next.number <= ${MAX_OWN_PER_DAY} THEN next.number END
   FROM (SELECT coalesce(max(number), 0) + 1 AS number FROM (
     SELECT number, at FROM audit_log WHERE actor_id = $1::uuid AND number IS NOT NULL ORDER BY id DESC LIMIT 1) AS last
     WHERE at >= date_trunc('day', now(), 'UTC')) AS next
   WHERE next.number <= ${MAX_OWN_PER_DAY} OR $8::boolean RETURNING id::text`,
);

function authorOf({ author }: AuthoredWork): readonly Parameter[] {
  if (author === undefined) throw new Error('what this unit of work changes has no author');
  return [author.actorId, author.via, author.requestId];
}

const detailText = ({ author }: AuthoredWork, detail: AuditDetail): string =>
  JSON.stringify(author?.via === COMMAND ? { ...detail, operator: currentOperator() } : detail);

/**
 * Records a change in the transaction that makes it: both are there, or neither is. `action` is the words of a command, or
 * the field of a mutation; `subject` is the id of what was changed. Throws DailyLimitError, DatabaseError.
 */
export async function audit(
  work: AuthoredWork,
  action: string,
  subject: string | null,
  { account, ...detail }: AuditDetail = {},
): Promise<void> {
  const { actorId, via } = work.author ?? {};
  // A link is used by whoever has it: that never vanishes among what people do of their own.
  const isOwn = account !== undefined && account === actorId && via?.startsWith('link:') !== true;
  const values = [subject, account ?? null];
  const about = detailText(work, detail);
  if (!isOwn) {
    await work.query(INSERT, [...authorOf(work), action, ...values.map((value) => [value]), about]);
    return;
  }
  const always = ALWAYS_ALLOWED.has(action);
  const [recorded] = await work.query(INSERT_OWN, [...authorOf(work), action, ...values, about, always]);
  if (recorded === undefined)
    throw new DailyLimitError('This account has changed its credentials', MAX_OWN_PER_DAY);
}

/** The same of several accounts, each with an entry. Throws DatabaseError. */
export async function auditAccounts(
  work: AuthoredWork,
  action: string,
  accounts: readonly string[],
  detail: AuditDetail = {},
): Promise<void> {
  await work.query(INSERT, [...authorOf(work), action, accounts, accounts, detailText(work, detail)]);
}
