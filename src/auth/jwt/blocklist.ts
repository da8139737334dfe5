import type { PrismaClient } from '../../generated/prisma/client.ts';

/** Longest jti on the blocklist. A token whose jti cannot be looked up is refused. */
const MAX_LENGTH = 255;

export function isRevocable(jti: string): boolean {
  return jti.length > 0 && jti.length <= MAX_LENGTH && !jti.includes('\0') && jti.isWellFormed();
}

export interface RevokedToken {
  readonly jti: string;
  /**
   * When the token expires. Without it the entry is kept for good: a token may last as long as its issuer
   * likes.
   */
  readonly expiresAt?: Date | undefined;
}

/** Revokes a token before its expiry. False if it was already revoked. */
export async function revokeToken(prisma: PrismaClient, { jti, expiresAt }: RevokedToken): Promise<boolean> {
  const { count } = await prisma.revokedToken.createMany({
    data: [{ jti, expiresAt: expiresAt ?? null }],
    skipDuplicates: true,
  });
  return count > 0;
}
