import type { PrismaClient } from '../../generated/prisma/client.ts';

/** A jti that can be on the list. What a token claims beyond that cannot be looked up, and so is refused. */
const MAX_LENGTH = 255;

export function isRevocable(jti: string): boolean {
  return jti.length > 0 && jti.length <= MAX_LENGTH && !jti.includes('\0') && jti.isWellFormed();
}

export interface RevokedToken {
  readonly jti: string;
  /** When the token ends by itself. Without it the entry is kept for good: a token may last as long as its issuer likes. */
  readonly expiresAt?: Date | undefined;
}

/** Ends a token before its expiry. False where it has been ended already. */
export async function revokeToken(prisma: PrismaClient, { jti, expiresAt }: RevokedToken): Promise<boolean> {
  const { count } = await prisma.revokedToken.createMany({
    data: [{ jti, expiresAt: expiresAt ?? null }],
    skipDuplicates: true,
  });
  return count > 0;
}
