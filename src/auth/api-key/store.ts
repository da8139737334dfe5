import type { PrismaClient } from '../../generated/prisma/client.ts';
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

/** Makes a key for an account. The key itself is in the answer and nowhere else: only its hash is stored. */
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

/** Ends a key for good. False where there is no such key, or none of that account, or it has ended already. */
export async function revokeApiKey(prisma: PrismaClient, id: string, userId?: string): Promise<boolean> {
  const { count } = await prisma.apiKey.updateMany({
    where: { id, revokedAt: null, ...(userId === undefined ? {} : { userId }) },
    data: { revokedAt: new Date() },
  });
  return count > 0;
}
