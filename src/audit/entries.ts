import { deletion, type Job } from '../jobs/job.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';
import { MAX_OWN_A_DAY } from './audit.ts';

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

const PAGE = statement<AuditEntry & { readonly id: string }>(
  'audit_page',
  `SELECT id::text, at, actor_id AS actor, via, action, subject, request_id AS "requestId",
     CASE WHEN account_id IS NULL THEN detail ELSE jsonb_build_object('account', account_id) || detail END
       || CASE WHEN number > ${MAX_OWN_A_DAY} THEN jsonb_build_object('count', number - ${MAX_OWN_A_DAY}) ELSE '{}' END AS detail
   FROM audit_log
   WHERE audit_log.id > $1::bigint AND ($2::timestamptz IS NULL OR at >= $2)
     AND ($3::text IS NULL OR actor_id::text = $3 OR $3 = ANY(${CREDENTIAL_IDS}))
     AND ($4::text IS NULL OR subject = $4 OR account_id::text = $4)
     AND ($5::text IS NULL OR action = $5)
   ORDER BY audit_log.id LIMIT ${MANY}`,
);

/** The entries, oldest first, read in parts: there may be millions. Throws DatabaseError. */
export async function* auditEntries(db: Queryable, filter: AuditFilter): AsyncGenerator<AuditEntry> {
  const { since = null, actor = null, subject = null, action = null } = filter;
  let last = '0';
  for (;;) {
    const rows = await db.query(PAGE, [last, since, actor, subject, action]);
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
