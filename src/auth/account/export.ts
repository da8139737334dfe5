import { type Queryable, statement } from '../../platform/db/statement.ts';
import { OperatorError } from '../../platform/operator-error.ts';
import { emailKey, isBroken, noAccount } from './store.ts';
import type { StoredPart } from './stored-parts.ts';

interface Exported {
  readonly id: string;
}

/** Also one that is disabled or in deletion. */
const FIND = statement<Exported>('account_export_find', 'SELECT id FROM users WHERE email_key = $1');
/** One that is deleted while posts of it stay has no e-mail any more. */
const READ = statement<Exported>(
  'account_export',
  `SELECT id, name, email, role, password_hash IS NOT NULL AS "hasPassword", created_at AS "createdAt",
     disabled_at AS "disabledAt", deleted_at AS "deletedAt", tokens_valid_from AS "tokensValidFrom"
   FROM users WHERE id = $1 AND email_key IS NOT NULL`,
);
/** Text is passed on once it is this long. */
const WRITE_LENGTH = 65_536;

/** The id of the account with an e-mail. Throws AccountError, DatabaseError. */
export async function accountToExport(db: Queryable, email: string): Promise<string> {
  const [found] = isBroken(email) ? [] : await db.query(FIND, [emailKey(email)]);
  if (found === undefined) throw noAccount(email);
  return found.id;
}

const gone = () =>
  new OperatorError('The account was deleted while it was exported: the document is not complete.');

/** One JSON document, a row on each line. */
async function* textOf(db: Queryable, id: string, parts: readonly StoredPart[]) {
  const [account] = await db.query(READ, [id]);
  if (account === undefined) throw gone();
  yield `{\n  "account": ${JSON.stringify(account)}`;
  for (const { name, rows } of parts) {
    yield `,\n  ${JSON.stringify(name)}: [`;
    let first = true;
    for await (const row of rows(db, id)) {
      yield `${first ? '' : ','}\n    ${JSON.stringify(row)}`;
      first = false;
    }
    yield first ? ']' : '\n  ]';
  }
  // If the account was deleted meanwhile, rows may be missing: break off rather than look complete.
  if ((await db.query(READ, [id])).length === 0) throw gone();
  yield '\n}\n';
}

/**
 * What is stored about an account, except secrets and other people's data, in pieces worth a write. It is read while it is
 * written, in bounded memory. Throws OperatorError, DatabaseError.
 */
export async function* exportAccount(
  db: Queryable,
  id: string,
  parts: readonly StoredPart[],
): AsyncGenerator<string> {
  let text = '';
  for await (const piece of textOf(db, id, parts)) {
    text += piece;
    if (text.length < WRITE_LENGTH) continue;
    yield text;
    text = '';
  }
  yield text;
}
