import { type Queryable, statement } from '../database/statement.ts';
import type { UnitOfWork } from '../database/unit-of-work.ts';
import type { Config } from '../platform/config/config.ts';
import { newId } from '../platform/ids.ts';
import { formatIpOwner } from '../platform/ip-address.ts';
import type { AccountWriteQueue } from './account-write-queue.ts';
import {
  AccountError,
  emailKey,
  insertAccount,
  isIdentifier,
  type ReadyAccount,
  readyAccount,
} from './accounts.ts';
import { audit } from './audit.ts';
import type { ResolveOptions } from './authenticate.ts';
import type { FailureCounter } from './login.ts';
import { revokeAllCredentials } from './revocation.ts';
import { createUseRecorder, readConnectionFor, type SecretServices } from './secrets.ts';

/** The claims `iss` and `sub` of a JWT. */
export interface IdentityClaims {
  readonly issuer: string;
  readonly subject: string;
}

/** @returns undefined if no account can be linked to the subject */
export function parseIdentity(issuer: unknown, subject: string): IdentityClaims | undefined {
  const isLinkable = typeof issuer === 'string' && isIdentifier(issuer) && isIdentifier(subject);
  return isLinkable ? { issuer, subject } : undefined;
}

const insertIdentity = (label: string, condition = '') =>
  statement<{ id: string }>(
    label,
    `INSERT INTO external_identities (id, user_id, issuer, subject) SELECT $1, u.id, $3, $4 FROM users u
     WHERE u.id = $2 ${condition} ON CONFLICT (issuer, subject) DO NOTHING RETURNING id`,
  );
const INSERT = insertIdentity('identity_insert');
/**
 * Only a link that was sent to the email address verifies the address. A provider may give an address to another
 * person, so only the first subject of an issuer is linked. Lower case maps some other characters to ASCII, so
 * both addresses must be ASCII.
 */
const INSERT_BY_EMAIL = insertIdentity(
  'identity_insert_by_email',
  `AND u.email_verified_at IS NOT NULL AND u.disabled_at IS NULL AND u.deleted_at IS NULL
   AND octet_length(u.email) = char_length(u.email)
   AND NOT EXISTS (SELECT FROM external_identities e WHERE e.user_id = u.id AND e.issuer = $3)`,
);

/** The length makes the text unambiguous. */
const hashSql = (issuer: string, subject: string): string =>
  `sha256(convert_to(concat_ws(' ', length(${issuer}), ${issuer}, ${subject}), 'UTF8'))`;
/** Deleted accounts have no issuer. Tokens may name them by id. */
const NO_ISSUER = "''::text";

const FORGET_REMOVED = statement<never>(
  'identity_forget_removed',
  `DELETE FROM removed_identities WHERE hash = ${hashSql('$1::text', '$2::text')}`,
);
const FIND_REMOVED = statement<{ one: number }>(
  'identity_find_removed',
  `SELECT 1 AS one FROM removed_identities
   WHERE hash IN (${hashSql('$1::text', '$2::text')}, ${hashSql(NO_ISSUER, 'lower($2::text)')})`,
);
const FIND_ACCOUNT = statement<{ id: string }>(
  'identity_account',
  'SELECT user_id AS "id" FROM external_identities WHERE issuer = $1 AND subject = $2',
);

/**
 * Links a subject that an operator names. The transaction has locked the account.
 * @returns the id of the identity
 * @throws {AccountError} if the subject is linked to an account
 * @throws {DatabaseError}
 */
export async function linkIdentity(
  work: Queryable,
  account: string,
  { issuer, subject }: IdentityClaims,
): Promise<string> {
  await work.query(FORGET_REMOVED, [issuer, subject]);
  const [linked] = await work.query(INSERT, [newId(), account, issuer, subject]);
  if (linked !== undefined) return linked.id;
  const [owner] = await work.query(FIND_ACCOUNT, [issuer, subject]);
  throw new AccountError(
    `Subject "${subject}" of issuer "${issuer}" is already linked to account ${owner?.id}. Nothing was changed. Run "user unlink" for that account first.`,
  );
}

interface RemovedIdentity {
  readonly id: string;
  readonly issuer: string;
}

const removeIdentity = (label: string, condition: string) =>
  statement<RemovedIdentity>(
    label,
    `WITH removed AS (DELETE FROM external_identities WHERE user_id = $1 AND ${condition} RETURNING id, issuer, subject),
       hashes AS (INSERT INTO removed_identities (hash) SELECT ${hashSql('issuer', 'subject')} FROM removed
         ON CONFLICT DO NOTHING)
     SELECT id, issuer FROM removed`,
  );
const REMOVE = removeIdentity('identity_remove', 'issuer = $2 AND subject = $3');
const REMOVE_BY_ID = removeIdentity('identity_remove_by_id', 'id = $2');
const REMOVE_ALL = statement<never>(
  'identity_remove_all',
  `WITH removed AS (DELETE FROM external_identities WHERE user_id = $1 RETURNING issuer, subject)
   INSERT INTO removed_identities (hash) SELECT ${hashSql('issuer', 'subject')}
   FROM (TABLE removed UNION ALL SELECT ${NO_ISSUER}, $1::uuid::text) AS a (issuer, subject) ON CONFLICT DO NOTHING`,
);

/**
 * No token links a removed subject again, because the issuer still signs tokens for the subject. JWTs that the account
 * has used until now are revoked, which closes their streams.
 * @param identity the claims, or the id of the row
 * @returns undefined if the account has no such identity
 * @throws {DatabaseError}
 */
export async function unlinkIdentity(
  work: UnitOfWork,
  account: string,
  identity: IdentityClaims | string,
): Promise<RemovedIdentity | undefined> {
  const [removed] =
    typeof identity === 'string'
      ? await work.query(REMOVE_BY_ID, [account, identity])
      : await work.query(REMOVE, [account, identity.issuer, identity.subject]);
  if (removed !== undefined) await revokeAllCredentials(work, [account], []);
  return removed;
}

/**
 * Removes the identities of an account in deletion, so that no token creates the account again.
 * @throws {DatabaseError}
 */
export async function removeIdentities(work: Queryable, account: string): Promise<void> {
  await work.query(REMOVE_ALL, [account]);
}

type Claims = Readonly<Record<string, unknown>>;

const ASCII = /^[!-~]+$/;

/** @returns undefined unless the issuer has verified the email address */
function findVerifiedEmail({ email, email_verified: verified }: Claims): string | undefined {
  return typeof email === 'string' && ASCII.test(email) && verified === true ? email : undefined;
}

/** The lock makes concurrent tokens wait, so that the next statement sees what they have linked. */
const LOCK_BY_EMAIL = statement<{ id: string }>(
  'identity_lock_account',
  'SELECT id FROM users WHERE email_key = $1 FOR NO KEY UPDATE',
);

export interface IdentityServices extends SecretServices {
  readonly accountWriteQueue: AccountWriteQueue;
  /** Counts the accounts that tokens create, by IP address. */
  readonly signUps: FailureCounter;
}

const KIND = 'jwt';

/** Identities of tokens, and the accounts that JWT_ACCOUNTS lets tokens link or create. */
export function createIdentities(services: IdentityServices, accounts: Config['jwt']['accounts']) {
  const { database, accountWriteQueue, signUps } = services;

  async function insert(work: UnitOfWork, sql: typeof INSERT, account: string, identity: IdentityClaims) {
    const { issuer, subject } = identity;
    const [linked] = await work.query(sql, [newId(), account, issuer, subject]);
    if (linked !== undefined)
      await audit(work, 'user.link', account, { account, identity: linked.id, issuer });
    return linked !== undefined;
  }

  async function create(work: UnitOfWork, ready: ReadyAccount, identity: IdentityClaims) {
    const { id } = await insertAccount(work, ready);
    await audit(work, 'user.create', id, { account: id, role: 'member' });
    // A concurrent token has another email address, and its account remains.
    if (!(await insert(work, INSERT, id, identity))) throw new AccountError('The subject has an account.');
  }

  /**
   * Links the subject of a token that no account has, if the claims allow that. The caller looks the subject up again,
   * because a concurrent request may have linked the subject.
   * @throws {DatabaseError}
   * @throws RATE_LIMITED if too many accounts were created from the IP address
   */
  async function admit(
    identity: IdentityClaims,
    claims: Claims,
    { clientAddress, requestId }: ResolveOptions,
  ): Promise<void> {
    const email = findVerifiedEmail(claims);
    if (email === undefined) return;
    const owner = formatIpOwner(clientAddress);
    const reads = readConnectionFor(database, owner);
    if ((await reads.query(FIND_REMOVED, [identity.issuer, identity.subject])).length > 0) return;
    const run = <T>(change: (work: UnitOfWork) => Promise<T>) =>
      accountWriteQueue.transaction(owner, change, { author: { actorId: null, via: KIND, requestId } });
    const isFound = await run(async (work) => {
      const [account] = await work.query(LOCK_BY_EMAIL, [emailKey(email)]);
      if (account !== undefined) await insert(work, INSERT_BY_EMAIL, account.id, identity);
      return account !== undefined;
    });
    if (isFound || accounts !== 'create') return;
    const name = typeof claims.name === 'string' ? claims.name : '';
    try {
      const ready = await readyAccount(reads, { name, email });
      await signUps.failure(owner);
      await run((work) => create(work, ready, identity));
    } catch (error) {
      // The name or the address breaks a rule, or a concurrent request was faster.
      if (!(error instanceof AccountError)) throw error;
    }
  }

  return {
    admit: accounts === 'existing' ? undefined : admit,
    recordUse: createUseRecorder({
      ...services,
      table: 'external_identities',
      usedAt: 'last_used_at',
      failure: 'auth.last_used_store_failed',
      about: { credentialType: KIND },
    }),
  };
}

export type Identities = ReturnType<typeof createIdentities>;
