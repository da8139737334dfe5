import { type Parameter, type Queryable, statement } from '../platform/db/statement.ts';
import type { Author, UnitOfWork } from '../platform/db/unit-of-work.ts';

/** A transaction that knows for whom it is. */
export type AuthoredWork = Queryable & Pick<UnitOfWork, 'author'>;

/** Whoever runs a command: the operating system knows who that is. */
export const OPERATOR: Author = { actorId: null, via: 'command', requestId: null };

/** What is worth knowing of a change: ids, counts and names of the service's own, never texts or e-mails. */
export interface AuditDetail {
  /** The account that the subject belongs to, or is. */
  readonly account?: string | undefined;
  readonly [name: string]: unknown;
}

/** Further changes by an actor to what is their own are only counted for the day, so that nobody can fill the disk. */
export const MAX_OWN_A_DAY = 10_000;
/** The action of the entry that counts the others. */
export const MORE_OF_ONES_OWN = 'own.more';

const INSERT = statement<never>(
  'audit_insert',
  `INSERT INTO audit_log (actor_id, via, request_id, action, subject, account_id, detail)
   SELECT $1::uuid, $2, $3, $4, s.subject, s.account_id, $7::jsonb
   FROM unnest($5::text[], $6::uuid[]) AS s (subject, account_id)`,
);

/** Two transactions of an actor at once may take the same number: the bound is not meant to be exact. */
const INSERT_OWN = statement<never>(
  'audit_insert_own',
  `WITH last AS (SELECT id, number, at FROM audit_log WHERE actor_id = $1::uuid AND number IS NOT NULL ORDER BY id DESC LIMIT 1),
     of_day AS (SELECT id, number FROM last WHERE at >= date_trunc('day', now(), 'UTC')),
     counted AS (UPDATE audit_log SET number = audit_log.number + 1, at = clock_timestamp() FROM of_day
       WHERE audit_log.id = of_day.id AND of_day.number > ${MAX_OWN_A_DAY} RETURNING 1),
     next AS (SELECT coalesce((SELECT number FROM of_day), 0) + 1 AS number WHERE NOT EXISTS (SELECT FROM counted))
   INSERT INTO audit_log (actor_id, via, request_id, action, subject, account_id, detail, number)
   SELECT $1::uuid, $2, $3, $4, $5, $6::uuid, $7::jsonb, number FROM next WHERE number <= ${MAX_OWN_A_DAY}
   UNION ALL SELECT $1::uuid, $2, $3, '${MORE_OF_ONES_OWN}', NULL, $6::uuid, '{}', number FROM next WHERE number > ${MAX_OWN_A_DAY}`,
);

function authorOf({ author }: AuthoredWork): readonly Parameter[] {
  if (author === undefined) throw new Error('what this unit of work changes has no author');
  return [author.actorId, author.via, author.requestId];
}

/**
 * Records a change in the transaction that makes it: both are there, or neither is. `action` is the words of a command, or
 * the field of a mutation; `subject` is the id of what was changed. Throws DatabaseError.
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
  const about = JSON.stringify(detail);
  if (isOwn) await work.query(INSERT_OWN, [...authorOf(work), action, ...values, about]);
  else await work.query(INSERT, [...authorOf(work), action, ...values.map((value) => [value]), about]);
}

/** The same of several accounts, each with an entry. Throws DatabaseError. */
export async function auditAccounts(
  work: AuthoredWork,
  action: string,
  accounts: readonly string[],
  detail: AuditDetail = {},
): Promise<void> {
  await work.query(INSERT, [...authorOf(work), action, accounts, accounts, JSON.stringify(detail)]);
}
