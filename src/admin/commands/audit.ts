import { findAccount } from '../../auth/accounts.ts';
import { type AuditEntry, auditEntries } from '../../auth/audit.ts';
import type { Queryable } from '../../database/statement.ts';
import type { DefineCommands, Opened } from '../cli/connection.ts';
import { parseInstant } from '../cli/options.ts';
import { StreamedText } from '../cli/output.ts';

interface Options {
  readonly since?: Date;
  readonly actor?: string;
  readonly subject?: string;
  readonly action?: string;
}

/** The entries name accounts by their ids; whoever asks may have an e-mail. Throws AccountError, DatabaseError. */
async function idOf(db: Queryable, name: string | undefined): Promise<string | undefined> {
  if (name === undefined || !name.includes('@')) return name;
  return (await findAccount(db, name)).id;
}

async function* textOf(entries: AsyncIterable<AuditEntry>): AsyncGenerator<string> {
  let before = '[';
  for await (const entry of entries) {
    yield `${before}\n  ${JSON.stringify(entry, null, 2).replaceAll('\n', '\n  ')}`;
    before = ',';
  }
  yield before === '[' ? '[]\n' : '\n]\n';
}

async function list({ database }: Opened, { since, actor, subject, action }: Options) {
  const [by, of] = [await idOf(database, actor), await idOf(database, subject)];
  return new StreamedText(textOf(auditEntries(database, { since, actor: by, subject: of, action })));
}

export const defineAuditCommand: DefineCommands = ({ command }) => {
  command('audit', 'lists who has changed what, oldest first', list)
    .option('--since <time>', 'ISO 8601 time or date', parseInstant)
    .option('--actor <id>', 'by an account (its id or e-mail), or by a credential (its id)')
    .option('--subject <id>', 'of what has this id, or belongs to this account (its id or e-mail)')
    .option('--action <action>', 'such as api-key.create or deletePost');
};
