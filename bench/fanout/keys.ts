import type { Client } from 'pg';
import { API_KEY, shownPrefix } from '../../src/auth/api-keys.ts';
import { hashSecret } from '../../src/auth/secrets.ts';

const UNLIMITED = 1_000_000;

/** A key for each of so many accounts, as `createApiKey` makes them, but all in one statement. */
export async function keysOfAccounts(admin: Client, accounts: number): Promise<string[]> {
  const keys = Array.from({ length: accounts }, API_KEY.generate);
  const { rowCount } = await admin.query(
    `INSERT INTO api_keys (id, user_id, name, scopes, prefix, hash, burst, per_second)
     SELECT gen_random_uuid(), account.id, 'bench', ARRAY['posts:read'], made.prefix, made.hash, ${UNLIMITED}, ${UNLIMITED}
     FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS made(prefix, hash, number)
     JOIN (SELECT id, row_number() OVER (ORDER BY created_at, id) AS number FROM users) AS account USING (number)`,
    [keys.map(shownPrefix), keys.map((key) => Buffer.from(hashSecret(key)))],
  );
  if (rowCount !== accounts) throw new Error(`there are ${rowCount} accounts for ${accounts} keys`);
  return keys;
}
