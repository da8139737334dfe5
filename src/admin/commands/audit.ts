import { findAccount } from '../../auth/accounts.ts';
import { type AuditEntry, auditEntries } from '../../auth/audit.ts';
import type { Queryable } from '../../database/statement.ts';
import type { DefineCommands, Opened } from '../cli/connection.ts';
import { parseTimestamp } from '../cli/options.ts';
import { StreamedText } from '../cli/output.ts';

interface Options {
  readonly since?: Date;
  readonly actor?: string;
  readonly subject?: string;
  readonly action?: string;
}

/**
 * Entries name accounts by id, but operators may know only an email address.
 * @throws {AccountError}
 * @throws {DatabaseError}
 */
async function resolveAccountId(db: Queryable, name: string | undefined): Promise<string | undefined> {
  if (name === undefined || !name.includes('@')) return name;
  return (await findAccount(db, name)).id;
}

async function* formatEntries(entries: AsyncIterable<AuditEntry>): AsyncGenerator<string> {
  let before = '[';
  for await (const entry of entries) {
    yield `${before}\n  ${JSON.stringify(entry, null, 2).replaceAll('\n', '\n  ')}`;
    before = ',';
  }
  yield before === '[' ? '[]\n' : '\n]\n';
}

async function list({ database }: Opened, { since, actor, subject, action }: Options) {
  const [by, of] = [await resolveAccountId(database, actor), await resolveAccountId(database, subject)];
  return new StreamedText(formatEntries(auditEntries(database, { since, actor: by, subject: of, action })));
}

export const defineAuditCommands: DefineCommands = ({ add, command }) => {
  add('audit', 'Read the audit log');
  command('audit list', 'List audit entries, oldest first', list)
    .option('--since <time>', 'entries since this ISO 8601 time or date', parseTimestamp)
    .option('--actor <id>', 'who made the change: id or email address of an account, or id of a credential')
    .option(
      '--subject <id>',
      'what was changed: an id, or id or email address of the account that owns the subject',
    )
    .option(
      '--action <action>',
      'action, such as api-key.create or deletePost; also finds the names of version 1',
    );
};
