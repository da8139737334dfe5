import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname, userInfo } from 'node:os';
import { deletion, type Job } from '../database/jobs.ts';
import { type Parameter, type Queryable, statement } from '../database/statement.ts';
import type { Author, UnitOfWork } from '../database/unit-of-work.ts';
import { sudoUser } from '../platform/config/config.ts';
import { DailyLimitError } from '../platform/fairness/usage.ts';
import { isUuid } from '../platform/ids.ts';

export interface Operator {
  /** Name of the operating system's user; under sudo, the user who called sudo. */
  readonly user: string;
  readonly host: string;
  readonly reason?: string | undefined;
}

const MAX_USER_LENGTH = 100;

function processUser(): string {
  try {
    return userInfo().username;
  } catch (error) {
    // The user id of a container may have no name.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SYSTEM_ERROR') throw error;
    return `uid ${process.getuid?.()}`;
  }
}

export const processOperator = (): Operator => ({
  user: (sudoUser() ?? processUser()).slice(0, MAX_USER_LENGTH),
  host: hostname(),
});

const current = new AsyncLocalStorage<Operator>();

/** A server runs commands of several operators concurrently. */
export const runAs = <T>(operator: Operator, command: () => T): T => current.run(operator, command);

const currentOperator = (): Operator => current.getStore() ?? processOperator();

export type AuthoredWork = Queryable & Pick<UnitOfWork, 'author'>;

const COMMAND = 'command';
/** Entries of this author also name the operator. */
export const OPERATOR: Author = { actorId: null, via: COMMAND, requestId: null };

/**
 * Details of a change: ids, counts and names that the service chose, never user content or email addresses.
 */
export interface AuditDetail {
  /** The id of the account that owns the subject, or of the subject itself. */
  readonly account?: string | undefined;
  readonly [name: string]: unknown;
}

/** Daily limit of an account's changes to its own credentials. It bounds the size of the audit log. */
const MAX_OWN_PER_DAY = 10_000;
/** An account owner can always lock an intruder out, even if the intruder has used up the daily limit. */
const ALWAYS_ALLOWED: ReadonlySet<string> = new Set(['changePassword', 'revokeEverything']);

const INSERT = statement<never>(
  'audit_insert',
  `INSERT INTO audit_log (actor_id, via, request_id, action, subject, account_id, detail)
   SELECT $1::uuid, $2, $3, $4, s.subject, s.account_id, $7::jsonb
   FROM unnest($5::text[], $6::uuid[]) AS s (subject, account_id)`,
);

/**
 * Returns no row if the actor has made too many changes that day. Concurrent transactions can take one
 * number, so the bound is not exact. Entries beyond the bound have no number, because version 1.0.0 changes
 * an entry with a higher number during a rolling upgrade.
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
 * Records a change in the transaction that makes the change, so that both commit or neither does.
 * @param action the words of a command, or the field of a mutation
 * @param subject the id of the changed object
 * @throws {DailyLimitError}
 * @throws {DatabaseError}
 */
export async function audit(
  work: AuthoredWork,
  action: string,
  subject: string | null,
  { account, ...detail }: AuditDetail = {},
): Promise<void> {
  const { actorId, via } = work.author ?? {};
  // Anyone who has a link can use it, so changes by a link are always recorded.
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
    throw new DailyLimitError('Your account has changed its credentials', MAX_OWN_PER_DAY);
}

/** @throws {DatabaseError} */
export async function auditAccounts(
  work: AuthoredWork,
  action: string,
  accounts: readonly string[],
  detail: AuditDetail = {},
): Promise<void> {
  await work.query(INSERT, [...authorOf(work), action, accounts, accounts, detailText(work, detail)]);
}

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

export interface AuditFilter {
  readonly since?: Date | undefined;
  /** The id of an account or of a credential. */
  readonly actor?: string | undefined;
  /** The id of the changed object or its account. */
  readonly subject?: string | undefined;
  /** A current name also finds entries with the name of version 1. */
  readonly action?: string | undefined;
}

/** `via` lists the ids of credentials after its colon. */
const CREDENTIAL_IDS = "string_to_array(substr(via, strpos(via, ':') + 1), ' ')";
const MANY = 1_000;

/** Entries of version 1 keep their names, and a filter by the new name finds both. */
const NAMES_OF_VERSION_1: Readonly<Record<string, string>> = {
  'block.add': 'block',
  'block.remove': 'unblock',
  'credential.revoke': 'revoke-all',
  'database.copy-to': 'export-to',
  'database.migrate': 'migrate',
  'database.restore': 'restore',
  'document.publish': 'documents.publish',
  'document.retire': 'documents.retire',
  'event-log.reset': 'event-log.renew',
  'jwt.revoke': 'token.revoke',
  'signing-key.revoke': 'signing-key.drop',
  'user.create-reset-link': 'user.reset-link',
};

/** Version 1.0.0 counted further changes of a day in such an entry. */
const COUNTED = 'own.more';

/** The statement has only the requested conditions, so that PostgreSQL uses the index for them. */
function pageOf({ since, actor, subject, action }: AuditFilter) {
  const values: Parameter[] = [];
  const of = (value: Parameter) => `$${values.push(value) + 1}`;
  const earlier = action === undefined ? undefined : NAMES_OF_VERSION_1[action];
  const conditions: string[] = [];
  if (since !== undefined) conditions.push(`at >= ${of(since)}::timestamptz`);
  if (earlier !== undefined) conditions.push(`action = ANY(${of([action ?? '', earlier])}::text[])`);
  else if (action !== undefined) conditions.push(`action = ${of(action)}::text`);
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

/**
 * Reads entries page by page, oldest first, because the log may have millions.
 * @throws {DatabaseError}
 */
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

export const oldAuditEntries = (retentionMs: number): Job =>
  deletion('audit_log', {
    table: 'audit_log',
    condition: "at < now() - $2::float8 * interval '1 millisecond'",
    values: [retentionMs],
  });
