import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.ts';

/**
 * Revoked credentials are refused everywhere within a second (contract section 3): an entry lives half of
 * that.
 */
const TTL_MS = 500;
const MAX_ENTRIES = 10_000;

/**
 * Caches what the database says about credentials, so briefly that no revocation is missed. Concurrent
 * callers share one look-up. A failed one is not cached, and rejects with what `ask` throws.
 */
export function createCredentialCache<T>(clock: Clock) {
  const cache = new LRUCache<string, { readonly found: Promise<T>; readonly untilMs: number }>({
    max: MAX_ENTRIES,
  });
  return (name: string, ask: () => Promise<T>): Promise<T> => {
    const nowMs = clock.elapsedMs();
    const cached = cache.get(name);
    if (cached !== undefined && cached.untilMs > nowMs) return cached.found;
    const found = ask();
    cache.set(name, { found, untilMs: nowMs + TTL_MS });
    found.catch(() => cache.delete(name));
    return found;
  };
}
