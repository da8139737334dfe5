import type { Database } from '../database/database.ts';
import { type Parameter, type Queryable, statement } from '../database/statement.ts';
import { runInPrisma } from '../database/unit-of-work.ts';
import { OperatorError } from '../platform/errors.ts';
import { emailKey, hasInvalidUnicode, noAccount } from './accounts.ts';

/** A section of the output of `admin user export`. */
export interface ExportSection {
  readonly name: string;
  readonly tables: readonly string[];
  /** @throws {DatabaseError} */
  rows(db: Queryable, account: string): AsyncGenerator<object>;
}

interface ExportSectionOptions {
  readonly name: string;
  /** `alias` stands for the first table. */
  readonly tables: readonly [string, ...string[]];
  readonly alias: string;
  /** The columns contain no secret, no hash and no data about other people. */
  readonly columns: string;
  readonly owner?: string;
  readonly join?: string;
  /** `before` is a value that precedes all others. */
  readonly key?: readonly (readonly [column: string, type: string, before: Parameter])[];
}

/** A post with its tags may have 200 kB, and a slow client keeps a page in memory for long. */
const PAGE = 20;
const BY_ID = [['id', 'uuid', '00000000-0000-0000-0000-000000000000']] as const;
type Row = Readonly<Record<string, Parameter>>;

/**
 * Reads pages by key, each in a separate statement, so that no connection is occupied while a slow client
 * pauses.
 */
export function defineExportSection(options: ExportSectionOptions): ExportSection {
  const { name, tables, alias, columns, owner = 'user_id', join = '', key = BY_ID } = options;
  const names = key.map(([column]) => `${alias}.${column}`);
  const shownAs = key.map((_, place) => `key ${place}`);
  const page = statement<Row>(
    `account_export_${tables[0]}`,
    `SELECT ${names.map((column, place) => `${column} AS "${shownAs[place]}"`).join(', ')}, ${columns}
     FROM ${tables[0]} ${alias} ${join}
     WHERE ${alias}.${owner} = $1 AND (${names.join(', ')}) > (${key.map(([, type], place) => `$${place + 3}::${type}`).join(', ')})
     ORDER BY ${names.join(', ')} LIMIT $2`,
  );
  return {
    name,
    tables,
    async *rows(db, account) {
      let after: readonly Parameter[] = key.map(([, , before]) => before);
      for (;;) {
        const rows = await db.query(page, [account, PAGE, ...after]);
        for (const row of rows)
          yield Object.fromEntries(Object.entries(row).filter(([column]) => !shownAs.includes(column)));
        const last = rows.at(-1);
        if (last === undefined || rows.length < PAGE) return;
        after = shownAs.map((column) => last[column] ?? null);
      }
    },
  };
}

export interface AccountContent {
  /** The option of `admin user delete` that decides what happens to the content. */
  readonly option: { readonly name: string; readonly description: string };
  readonly exportSections: readonly ExportSection[];
  /** The counts for an account without content. */
  readonly none: Readonly<Record<string, number>>;
  /**
   * Deletes the content in bounded transactions that publish the deletions. A repeated call does no harm.
   * @returns the count of each kind
   * @throws {DatabaseError}
   */
  drop(database: Database, account: string): Promise<Readonly<Record<string, number>>>;
  /**
   * Deletes the content that only the account itself sees, also if the other content is kept.
   * @throws {DatabaseError}
   */
  deletePrivate(db: Queryable, account: string): Promise<void>;
}

/** Modules and features add their own sections. */
export const CORE_EXPORT_SECTIONS: readonly ExportSection[] = [
  defineExportSection({
    name: 'apiKeys',
    tables: ['api_keys', 'api_key_uses'],
    alias: 'k',
    columns: `k.id, k.name, k.prefix, k.scopes, k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt",
       k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt", k.suspended_at AS "suspendedAt", k.burst, k.per_second AS "perSecond", k.documents,
       (SELECT coalesce(json_agg(json_build_object('address', u.address, 'userAgent', u.user_agent, 'firstAt', u.first_at,
          'lastAt', u.last_at) ORDER BY u.last_at DESC, u.address), '[]') FROM api_key_uses u WHERE u.key_id = k.id) AS "uses"`,
  }),
  defineExportSection({
    name: 'sessions',
    tables: ['sessions'],
    alias: 's',
    columns: `s.id, s.user_agent AS "userAgent", s.created_at AS "createdAt", s.last_seen_at AS "lastSeenAt",
       s.expires_at AS "expiresAt", s.absolute_expires_at AS "absoluteExpiresAt"`,
  }),
  defineExportSection({
    name: 'externalIdentities',
    tables: ['external_identities'],
    alias: 'e',
    columns: `e.id, e.issuer, e.subject, e.created_at AS "createdAt", e.last_used_at AS "lastUsedAt"`,
  }),
  defineExportSection({
    name: 'streamTokens',
    tables: ['stream_tokens'],
    alias: 't',
    columns: `t.id, t.credential_kind AS "credentials", t.role, t.scopes, t.operation::json AS "operation",
       t.created_at AS "createdAt", t.last_used_at AS "lastUsedAt", t.expires_at AS "expiresAt", t.ends_at AS "maxExpiresAt"`,
  }),
  defineExportSection({
    name: 'limits',
    tables: ['account_limits'],
    alias: 'l',
    key: [['user_id', 'uuid', '00000000-0000-0000-0000-000000000000']],
    columns: 'l.burst, l.per_second AS "perSecond"',
  }),
  // The names of the other people who made changes are omitted.
  defineExportSection({
    name: 'audit',
    tables: ['audit_log'],
    alias: 'a',
    owner: 'account_id',
    key: [['id', 'bigint', 0]],
    columns: `a.at, split_part(a.via, ':', 1) AS via, a.action, a.subject, a.detail - 'operator' AS detail, a.request_id AS "requestId"`,
  }),
  // The bodies are encrypted, and only the client has the key.
  defineExportSection({
    name: 'storedResponses',
    tables: ['idempotency_keys'],
    alias: 'i',
    key: [['key_hash', 'bytea', Buffer.alloc(0)]],
    columns: 'i.status, i.created_at AS "createdAt"',
  }),
];

/** An account whose deletion retains its posts has no email address any more. */
const READ = statement<{ id: string }>(
  'account_export',
  `SELECT id, name, handle, bio, avatar_url AS "avatarUrl", email, email_verified_at AS "emailVerifiedAt", role, password_hash IS NOT NULL AS "hasPassword", created_at AS "createdAt",
     disabled_at AS "disabledAt", deleted_at AS "deletedAt", tokens_valid_from AS "tokensValidFrom"
   FROM users WHERE id = $1 AND email_key IS NOT NULL`,
);
const WRITE_LENGTH = 65_536;

/**
 * Finds an account that may be disabled or in deletion.
 * @throws {AccountError}
 * @throws {DatabaseError}
 */
export async function accountToExport(database: Database, email: string): Promise<string> {
  const query = { where: { emailKey: emailKey(email) }, select: { id: true } };
  const found =
    !hasInvalidUnicode(email) && (await runInPrisma(database, (prisma) => prisma.user.findUnique(query)));
  if (!found) throw noAccount(email);
  return found.id;
}

const createDeletedError = () =>
  new OperatorError('The account was deleted during the export. The output is incomplete.');

async function* writeExport(db: Queryable, id: string, sections: readonly ExportSection[]) {
  const [account] = await db.query(READ, [id]);
  if (account === undefined) throw createDeletedError();
  yield `{\n  "account": ${JSON.stringify(account)}`;
  for (const { name, rows } of sections) {
    yield `,\n  ${JSON.stringify(name)}: [`;
    let first = true;
    for await (const row of rows(db, id)) {
      yield `${first ? '' : ','}\n    ${JSON.stringify(row)}`;
      first = false;
    }
    yield first ? ']' : '\n  ]';
  }
  // An error shows that the output is incomplete, because rows may be missing.
  if ((await db.query(READ, [id])).length === 0) throw createDeletedError();
  yield '\n}\n';
}

/**
 * Exports what is stored about an account, except secrets and other people's data. Reading and writing
 * alternate, so memory stays bounded.
 * @returns pieces of about WRITE_LENGTH characters
 * @throws {OperatorError}
 * @throws {DatabaseError}
 */
export async function* exportAccount(
  db: Queryable,
  id: string,
  sections: readonly ExportSection[],
): AsyncGenerator<string> {
  let text = '';
  for await (const piece of writeExport(db, id, sections)) {
    text += piece;
    if (text.length < WRITE_LENGTH) continue;
    yield text;
    text = '';
  }
  yield text;
}
