import type { PrismaClient } from '../../generated/prisma/client.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { LOCK_ACCOUNT } from '../account/lock.ts';
import type { Scope } from '../scopes.ts';
import { generateApiKey, hashApiKey, shownPrefix } from './format.ts';

export interface NewApiKey {
  readonly userId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date | undefined;
  /** Overrides of the burst and the sustained rate in the settings. */
  readonly burst?: number | undefined;
  readonly perSecond?: number | undefined;
}

/**
 * Creates a key for an account, regardless of its limit. The returned key is stored nowhere, only its hash.
 */
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

/** Contract section 5: keys of an account that are neither revoked nor expired. */
const MAX_LIVE_KEYS = 100;

/** The account has as many keys as it may. The message is meant for the requester. */
export class KeyLimitError extends Error {
  constructor() {
    super(
      `An account may have at most ${MAX_LIVE_KEYS} API keys that are neither revoked nor expired: revoke one first.`,
    );
    this.name = 'KeyLimitError';
  }
}

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

/**
 * Creates a key for an account as part of `work`. The limit is exact under concurrency. Throws KeyLimitError,
 * DatabaseError.
 */
export async function createApiKeyWithinLimit(
  work: UnitOfWork,
  key: NewApiKey,
): Promise<{ id: string; key: string }> {
  await checkKeyLimit(work, key.userId);
  return work.withPrisma((prisma) => createApiKey(prisma, key));
}

/**
 * Revokes a key for good. False if there is no such key, it belongs to another account, or it is already
 * revoked.
 */
export async function revokeApiKey(prisma: PrismaClient, id: string, userId?: string): Promise<boolean> {
  const { count } = await prisma.apiKey.updateMany({
    where: { id, revokedAt: null, ...(userId === undefined ? {} : { userId }) },
    data: { revokedAt: new Date() },
  });
  return count > 0;
}
