import { type Queryable, type Statement, statement } from '../../platform/db/statement.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { Role } from '../scopes.ts';
import { beingDeleted, emailKey, noAccount } from './store.ts';

/** How many credentials of each kind have ended. */
export type Ended = Readonly<Record<string, number>>;

interface Found {
  readonly id: string;
  readonly deleted: boolean;
}

/** Locks the account before what belongs to it (decision 14). A concurrent login waits. */
const FIND_TO_CHANGE = statement<Found>(
  'account_to_change',
  `SELECT id, deleted_at IS NOT NULL AS "deleted" FROM users WHERE email_key = $1 FOR NO KEY UPDATE`,
);

/** The id of the account with an e-mail, locked. Throws AccountError, also if its deletion has begun. */
export async function accountToChange(work: UnitOfWork, email: string): Promise<string> {
  const { id, deleted } = await accountToDelete(work, email);
  if (deleted) throw beingDeleted(email);
  return id;
}

/** The same for an account that may be deleted in part. */
export async function accountToDelete(work: UnitOfWork, email: string): Promise<Found> {
  const key = emailKey(email);
  const [found] = key.includes('\0') || !key.isWellFormed() ? [] : await work.query(FIND_TO_CHANGE, [key]);
  if (found === undefined) throw noAccount(email);
  return found;
}

/** Runs a statement that ends something and counts what it ended. */
const ending = (label: string, sql: string) =>
  statement<{ ended: number }>(
    label,
    `WITH gone AS (${sql} RETURNING 1) SELECT count(*)::int AS "ended" FROM gone`,
  );

const END = {
  sessions: ending('account_end_sessions', 'DELETE FROM sessions WHERE user_id = $1'),
  streamTokens: ending('account_end_stream_tokens', 'DELETE FROM stream_tokens WHERE user_id = $1'),
  // With their tokens, which depend on them.
  oauthGrants: ending('account_end_grants', 'DELETE FROM oauth_grants WHERE user_id = $1'),
  oauthClients: ending('account_end_clients', 'DELETE FROM oauth_clients WHERE owner_id = $1'),
  apiKeys: ending(
    'account_end_keys',
    'UPDATE api_keys SET revoked_at = now() WHERE user_id = $1 AND revoked_at IS NULL',
  ),
};
type Kind = keyof typeof END;

/** Removes a part of something: at most $2 rows of what is more than $2. */
const surplus = (table: string, of: string, key = 'id', from = table) =>
  ending(
    `account_surplus_${table}`,
    `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${from} WHERE ${of} OFFSET $2 LIMIT $2)`,
  );
/**
 * Authorizations depend on grants, and grants on clients; there may be any number under each. What has none left below it
 * goes at once, so that no batch has to look past what the earlier ones have left empty.
 */
const authorizations = (of: string) =>
  surplus('oauth_records', of, 'model, hash', 'oauth_records r JOIN oauth_grants g ON g.id = r.grant_id');
const grants = (of: string) =>
  surplus(
    'oauth_grants',
    `${of} AND NOT EXISTS (SELECT FROM oauth_records r WHERE r.grant_id = g.id)`,
    'id',
    'oauth_grants g',
  );
const ITS_OWN = 'g.user_id = $1';
const OF_ITS_CLIENTS = 'g.client_id IN (SELECT c.id FROM oauth_clients c WHERE c.owner_id = $1)';

/** What a transaction could not end in its time if there is very much of it. The last of each is what is counted. */
const SURPLUS: Readonly<Record<Kind, readonly Statement<{ ended: number }>[]>> = {
  sessions: [surplus('sessions', 'user_id = $1')],
  streamTokens: [surplus('stream_tokens', 'user_id = $1')],
  oauthGrants: [authorizations(ITS_OWN), grants(ITS_OWN)],
  oauthClients: [
    authorizations(OF_ITS_CLIENTS),
    grants(OF_ITS_CLIENTS),
    surplus(
      'oauth_clients',
      'owner_id = $1 AND NOT EXISTS (SELECT FROM oauth_grants g WHERE g.client_id = c.id)',
      'id',
      'oauth_clients c',
    ),
  ],
  apiKeys: [
    ending(
      'account_surplus_keys',
      `UPDATE api_keys SET revoked_at = now() WHERE id IN (
         SELECT id FROM api_keys WHERE user_id = $1 AND revoked_at IS NULL OFFSET $2 LIMIT $2)`,
    ),
  ],
};
const BATCH = 500;

/** What a password stands behind. */
const OF_THE_PASSWORD: readonly Kind[] = ['sessions', 'streamTokens', 'oauthGrants'];
const ALL: readonly Kind[] = [...OF_THE_PASSWORD, 'oauthClients', 'apiKeys'];

async function end(work: Queryable, id: string, kinds: readonly Kind[]): Promise<Ended> {
  const ended: Record<string, number> = {};
  for (const kind of kinds) ended[kind] = (await work.query(END[kind], [id]))[0]?.ended ?? 0;
  return ended;
}

/** Ends what is too much for one transaction, in batches. The rest is for the transaction that makes the change. */
async function endSurplus(db: Queryable, id: string, kinds: readonly Kind[]): Promise<Ended> {
  const ended: Record<string, number> = {};
  for (const kind of kinds) {
    const parts = SURPLUS[kind];
    let full: boolean;
    do {
      full = false;
      for (const part of parts) {
        const count = (await db.query(part, [id, BATCH]))[0]?.ended ?? 0;
        full ||= count === BATCH;
        if (part === parts.at(-1)) ended[kind] = (ended[kind] ?? 0) + count;
      }
    } while (full);
  }
  return ended;
}

/** Ends what is too much for `endAllCredentials`. Safe to repeat. Throws DatabaseError. */
export const endMostCredentials = (db: Queryable, id: string): Promise<Ended> => endSurplus(db, id, ALL);

/** Ends what is too much for `setPassword`. Safe to repeat. Throws DatabaseError. */
export const endMostOfPassword = (db: Queryable, id: string): Promise<Ended> =>
  endSurplus(db, id, OF_THE_PASSWORD);

/** What has ended in two steps. */
export function sumOf(one: Ended, other: Ended): Ended {
  return Object.fromEntries(Object.entries(one).map(([kind, count]) => [kind, count + (other[kind] ?? 0)]));
}

const DISABLE = statement<never>(
  'account_disable',
  'UPDATE users SET disabled_at = now() WHERE id = $1 AND disabled_at IS NULL',
);
const ENABLE = statement<never>('account_enable', 'UPDATE users SET disabled_at = NULL WHERE id = $1');
const END_TOKENS = statement<never>(
  'account_end_tokens',
  'UPDATE users SET tokens_valid_from = clock_timestamp() WHERE id = $1',
);

/** Has none of the credentials of an account work, by the database's clock. Throws DatabaseError. */
export async function disableAccount(db: Queryable, id: string): Promise<void> {
  await db.query(DISABLE, [id]);
}

/** Makes the credentials of a disabled account work again. Throws DatabaseError. */
export async function enableAccount(work: UnitOfWork, id: string): Promise<void> {
  await work.query(ENABLE, [id]);
}

/** Ends all that was ever issued to an account, JWTs of other issuers too. Throws DatabaseError. */
export async function endAllCredentials(work: UnitOfWork, id: string): Promise<Ended> {
  await work.query(END_TOKENS, [id]);
  return end(work, id, ALL);
}

const SET_PASSWORD = statement<never>(
  'account_set_password',
  'UPDATE users SET password_hash = $2 WHERE id = $1',
);

/** Sets a password and ends what was signed in to with the one before. API keys stay. Throws DatabaseError. */
export async function setPassword(work: UnitOfWork, id: string, hash: string): Promise<Ended> {
  await work.query(SET_PASSWORD, [id, hash]);
  return end(work, id, OF_THE_PASSWORD);
}

const SET_ROLE = statement<never>('account_set_role', 'UPDATE users SET role = $2::"Role" WHERE id = $1');

/** Sets the role, which all credentials have from then on. Throws DatabaseError. */
export async function setRole(work: UnitOfWork, id: string, role: Role): Promise<void> {
  await work.query(SET_ROLE, [id, role]);
}
