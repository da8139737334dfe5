import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { rows } from './database.ts';
import type { Policy } from './token-bucket.ts';

/** Whose request it is, and how many of them are allowed. */
export interface Account extends Policy {
  readonly userId: string;
  readonly clientId: string;
}

interface Known {
  /** Undefined: there is no such key. */
  readonly account: Account | undefined;
}

/** A key that is revoked is rejected within half a second, as by the service. */
const TTL_MS = 500;
const MAX_KEYS = 10_000;
const FIND_KEY = `SELECT k.id, k.user_id AS "userId", coalesce(k.burst, 100) AS burst,
    coalesce(k.per_second, 20) AS "perSecond"
  FROM api_keys k JOIN users u ON u.id = k.user_id
  WHERE k.hash = $1 AND k.revoked_at IS NULL AND u.disabled_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > now())`;

/** Requests that come at once share one look-up. */
const known = new LRUCache<string, Known>({
  max: MAX_KEYS,
  ttl: TTL_MS,
  async fetchMethod(key) {
    const found = await rows<Omit<Account, 'clientId'> & { id: string }>('api_key', FIND_KEY, [
      hash('sha256', key, 'buffer'),
    ]);
    return { account: found[0] && { ...found[0], clientId: `${found[0].userId}:key:${found[0].id}` } };
  },
});

/** What is known of the key without a look at the database; undefined if nothing is. */
export const knownAccountOf = (key: string): Known | undefined => known.get(key);

export async function accountOf(key: string): Promise<Account | undefined> {
  return (await known.fetch(key))?.account;
}

const FIND_SESSION = `SELECT s.id, s.user_id AS "userId" FROM sessions s JOIN users u ON u.id = s.user_id
  WHERE s.hash = $1 AND s.expires_at > now() AND u.disabled_at IS NULL`;

/** Asked for each time: a session that has ended is rejected from the next request on, as by the service. */
export async function accountOfSession(cookie: string): Promise<Account | undefined> {
  const [found] = await rows<{ id: string; userId: string }>('session', FIND_SESSION, [
    hash('sha256', cookie, 'buffer'),
  ]);
  return (
    found && {
      userId: found.userId,
      clientId: `${found.userId}:user`,
      burst: 1_000_000,
      perSecond: 1_000_000,
    }
  );
}
