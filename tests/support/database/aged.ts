import type { TestApp } from '../app.ts';

/** What of each table is an instant. Time passes by the database's clock, which a test cannot put forward. */
const INSTANTS = {
  sessions: ['created_at', 'last_seen_at', 'expires_at', 'absolute_expires_at'],
  api_keys: ['created_at', 'last_used_at', 'expires_at'],
  idempotency_keys: ['created_at'],
  events: ['created_at'],
  oauth_records: ['expires_at'],
  stream_tokens: ['created_at', 'last_used_at', 'expires_at', 'ends_at'],
  oauth_signing_keys: ['created_at', 'signs_from'],
} as const;

/** Makes the rows of a table as old as if so many milliseconds had passed. */
export async function age(
  { prisma }: Pick<TestApp, 'prisma'>,
  table: keyof typeof INSTANTS,
  ms: number,
): Promise<void> {
  const changes = INSTANTS[table].map((column) => `${column} = ${column} - ${ms} * interval '1 millisecond'`);
  await prisma.$executeRawUnsafe(`UPDATE ${table} SET ${changes.join(', ')}`);
}
