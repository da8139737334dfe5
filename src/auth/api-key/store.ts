import type { PrismaClient } from '../../generated/prisma/client.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { Scope } from '../scopes.ts';
import { generateApiKey, hashApiKey, shownPrefix } from './format.ts';

export interface NewApiKey {
  readonly userId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date | undefined;
  /** Another burst, and another sustained rate, than the settings give. */
  readonly burst?: number | undefined;
  readonly perSecond?: number | undefined;
}

/** Makes a key for an account, however many it has. The key itself is in the answer and nowhere else: only its hash is stored. */
export async function createApiKey(
  prisma: PrismaClient,
  { userId, name, scopes, expiresAt, burst, perSecond }: NewApiKey,
): Promise<{ id: string; key: string }> {
  const key = generateApiKey();
  const { id } = await prisma.apiKey.create({
    data: {
      userId,
      name,
      scopes: [...scopes],
      prefix: shownPrefix(key),
      hash: hashApiKey(key),
      expiresAt: expiresAt ?? null,
      burst: burst ?? null,
      perSecond: perSecond ?? null,
    },
    select: { id: true },
  });
  return { id, key };
}

/** Contract section 5: so many keys of an account that are neither revoked nor expired. */
const MAX_LIVE_KEYS = 100;

/** An account that has its most keys. The message is for whoever asked. */
export class KeyLimitError extends Error {
  constructor() {
    super(
      `An account may have at most ${MAX_LIVE_KEYS} API keys that are neither revoked nor expired: revoke one first.`,
    );
    this.name = 'KeyLimitError';
  }
}

/** Whoever else makes a key for the account waits until this transaction ends, and then counts what it has made. */
export const LOCK_ACCOUNT = statement<{ id: string }>(
  'api_keys_lock',
  'SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE',
);
const COUNT_LIVE = statement<{ live: number }>(
  'api_keys_live',
  `SELECT count(*)::int AS "live" FROM api_keys
   WHERE user_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
);

async function checkKeyLimit(transaction: Queryable, userId: string): Promise<void> {
  await transaction.query(LOCK_ACCOUNT, [userId]);
  const [row] = await transaction.query(COUNT_LIVE, [userId]);
  if ((row?.live ?? 0) >= MAX_LIVE_KEYS) throw new KeyLimitError();
}

/** Makes a key for an account as part of `work`. Throws KeyLimitError, exact however many are made at once; DatabaseError. */
export async function createApiKeyWithinLimit(
  work: UnitOfWork,
  key: NewApiKey,
): Promise<{ id: string; key: string }> {
  await checkKeyLimit(work, key.userId);
  return work.withPrisma((prisma) => createApiKey(prisma, key));
}

/** Ends a key for good. False where there is no such key, or none of that account, or it has ended already. */
export async function revokeApiKey(prisma: PrismaClient, id: string, userId?: string): Promise<boolean> {
  const { count } = await prisma.apiKey.updateMany({
    where: { id, revokedAt: null, ...(userId === undefined ? {} : { userId }) },
    data: { revokedAt: new Date() },
  });
  return count > 0;
}
