import { deletion, type Job } from '../jobs/job.ts';
import { type Parameter, type Queryable, statement } from '../platform/db/statement.ts';
import { isUuid } from '../platform/uuid.ts';
import { MAX_OWN_PER_DAY } from './audit.ts';

/** An entry of the audit log, as the command line shows it. */
export interface AuditEntry {
  readonly at: Date;
  /** The id of the account that made the change; null for a command. */
  readonly actor: string | null;
  readonly via: string;
  readonly action: string;
  readonly subject: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
}

/** Which entries are asked for: those that meet all of it. */
export interface AuditFilter {
  readonly since?: Date | undefined;
  /** The id of an account, or of a credential. */
  readonly actor?: string | undefined;
  /** The id of what was changed, or of the account that it belongs to. */
  readonly subject?: string | undefined;
  readonly action?: string | undefined;
}

/** What follows the colon of `via`; of some credentials, several ids. */
const CREDENTIAL_IDS = "string_to_array(substr(via, strpos(via, ':') + 1), ' ')";
const MANY = 1_000;

/** An entry by which version 1.0.0 counted further changes of a day. */
const COUNTED = 'own.more';

/** Only what is asked for is a condition, so that the index for it is used. */
function pageOf({ since, actor, subject, action }: AuditFilter) {
  const values: Parameter[] = [];
  const of = (value: Parameter) => `$${values.push(value) + 1}`;
  const conditions: string[] = [];
  if (since !== undefined) conditions.push(`at >= ${of(since)}::timestamptz`);
  if (action !== undefined) conditions.push(`action = ${of(action)}::text`);
  if (subject !== undefined) {
    const itself = `subject = ${of(subject)}::text`;
    conditions.push(isUuid(subject) ? `(${itself} OR account_id = ${of(subject)}::uuid)` : itself);
  }
  if (actor !== undefined) {
    const credential = `${of(actor)}::text = ANY(${CREDENTIAL_IDS})`;
    conditions.push(isUuid(actor) ? `(${credential} OR actor_id = ${of(actor)}::uuid)` : credential);
  }
  const page = statement<AuditEntry & { readonly id: string }>(
    'audit_page',
    `SELECT id::text, at, actor_id AS actor, via, action, subject, request_id AS "requestId",
     CASE WHEN account_id IS NULL THEN detail ELSE jsonb_build_object('account', account_id) || detail END
       || CASE WHEN action = '${COUNTED}' THEN jsonb_build_object('count', number - ${MAX_OWN_PER_DAY}) ELSE '{}' END AS detail
   FROM audit_log WHERE ${['audit_log.id > $1::bigint', ...conditions].join(' AND ')}
   ORDER BY audit_log.id LIMIT ${MANY}`,
  );
  return { page, values };
}

/** The entries, oldest first, read in parts: there may be millions. Throws DatabaseError. */
export async function* auditEntries(db: Queryable, filter: AuditFilter): AsyncGenerator<AuditEntry> {
  const { page, values } = pageOf(filter);
  let last = '0';
  for (;;) {
    const rows = await db.query(page, [last, ...values]);
    for (const { id, ...entry } of rows) {
      last = id;
      yield entry;
    }
    if (rows.length < MANY) return;
  }
}

/** Entries past the limit, by the database's clock. */
export const oldAuditEntries = (retentionMs: number): Job =>
  deletion('audit_log', {
    table: 'audit_log',
    condition: "at < now() - $2::float8 * interval '1 millisecond'",
    values: [retentionMs],
  });
