import { deletion } from '../../jobs/job.ts';
import { statement } from '../../platform/db/statement.ts';
import type { CredentialUse } from '../authenticate.ts';
import { storeOncePerMinute, type UseServices } from '../last-use.ts';

interface NewUse extends CredentialUse {
  readonly keyId: string;
}

/** So many addresses of a key are retained: those that used the key last. */
const MAX_ADDRESSES = 50;
const MAX_USER_AGENT_LENGTH = 200;

/**
 * Instances store the same rows, so each takes its locks in one order. A key that somebody has locked waits for its next
 * use. The deletion does not see the new rows, hence it leaves room for them, and it waits for no lock.
 */
const STORE = statement<never>(
  'api_key_uses_store',
  `WITH stored AS (
     INSERT INTO api_key_uses (key_id, address, user_agent, first_at, last_at)
     SELECT u.key_id, u.address, u.user_agent, now(), now()
     FROM unnest($1::uuid[], $2::text[], $3::text[]) AS u (key_id, address, user_agent)
     JOIN (SELECT id FROM api_keys WHERE id = ANY($1::uuid[]) FOR KEY SHARE SKIP LOCKED) AS k ON k.id = u.key_id
     ORDER BY u.key_id, u.address
     ON CONFLICT (key_id, address) DO UPDATE SET user_agent = excluded.user_agent, last_at = excluded.last_at
     RETURNING key_id, address),
   ranked AS (
     SELECT o.key_id, o.address, (SELECT count(*) FROM stored AS s WHERE s.key_id = o.key_id)
       + row_number() OVER (PARTITION BY o.key_id ORDER BY o.last_at DESC, o.address) AS place
     FROM api_key_uses AS o
     WHERE o.key_id = ANY($1::uuid[]) AND (o.key_id, o.address) NOT IN (SELECT key_id, address FROM stored))
   DELETE FROM api_key_uses WHERE (key_id, address) IN (
     SELECT o.key_id, o.address FROM api_key_uses AS o JOIN ranked USING (key_id, address)
     WHERE place > ${MAX_ADDRESSES} FOR UPDATE OF o SKIP LOCKED)`,
);

/** Records from where keys are used. Requests do not wait for that. */
export function createApiKeyUses({ database, ...services }: UseServices) {
  return storeOncePerMinute<NewUse>({
    ...services,
    what: 'the addresses of an API key',
    identityOf: ({ keyId, address }) => `${keyId} ${address}`,
    async store(uses) {
      await database.query(STORE, [
        uses.map(({ keyId }) => keyId),
        uses.map(({ address }) => address),
        uses.map(({ userAgent }) => userAgent?.slice(0, MAX_USER_AGENT_LENGTH) ?? null),
      ]);
    },
  });
}

/** Addresses are personal data: they are deleted 30 days after their last use. */
export const oldApiKeyUses = deletion('api_key_uses', {
  table: 'api_key_uses',
  key: 'key_id, address',
  condition: "last_at <= now() - interval '30 days'",
});
