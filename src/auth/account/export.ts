import { type Queryable, statement } from '../../platform/db/statement.ts';
import { OperatorError } from '../../platform/operator-error.ts';
import { emailKey, isBroken, noAccount } from './store.ts';
import type { StoredPart } from './stored-part.ts';

interface Exported {
  readonly id: string;
}

/** Also one that is disabled or in deletion. */
const FIND = statement<Exported>(
  'account_export',
  `SELECT id, name, email, role, password_hash IS NOT NULL AS "hasPassword", created_at AS "createdAt",
     disabled_at AS "disabledAt", deleted_at AS "deletedAt", tokens_valid_from AS "tokensValidFrom"
   FROM users WHERE email_key = $1`,
);
/** So long a text is worth a write. */
const WRITE_LENGTH = 65_536;

async function find(db: Queryable, email: string): Promise<Exported | undefined> {
  return isBroken(email) ? undefined : (await db.query(FIND, [emailKey(email)]))[0];
}

/** One JSON document, a row on each line. */
async function* textOf(db: Queryable, email: string, account: Exported, parts: readonly StoredPart[]) {
  yield `{\n  "account": ${JSON.stringify(account)}`;
  for (const { name, rows } of parts) {
    yield `,\n  ${JSON.stringify(name)}: [`;
    let first = true;
    for await (const row of rows(db, account.id)) {
      yield `${first ? '' : ','}\n    ${JSON.stringify(row)}`;
      first = false;
    }
    yield first ? ']' : '\n  ]';
  }
  // What is deleted meanwhile would be missing without a sign.
  const last = await find(db, email);
  if (last?.id !== account.id)
    throw new OperatorError('The account was deleted while it was exported: the document is not complete.');
  yield '\n}\n';
}

async function* inWrites(pieces: AsyncIterable<string>) {
  let text = '';
  for await (const piece of pieces) {
    text += piece;
    if (text.length < WRITE_LENGTH) continue;
    yield text;
    text = '';
  }
  yield text;
}

/**
 * What is stored about an account, without what is secret and what is other people's. It is read as it is written, in
 * bounded memory. Throws AccountError; reading it throws OperatorError, DatabaseError.
 */
export async function exportAccount(
  db: Queryable,
  email: string,
  parts: readonly StoredPart[],
): Promise<AsyncGenerator<string>> {
  const account = await find(db, email);
  if (account === undefined) throw noAccount(email);
  return inWrites(textOf(db, email, account, parts));
}
