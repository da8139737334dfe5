import { LRUCache } from 'lru-cache';

export interface Policy {
  readonly burst: number;
  readonly perSecond: number;
}

interface State {
  missing: number;
  atMs: number;
}

const MAX_CLIENTS = 100_000;
const buckets = new LRUCache<string, State>({ max: MAX_CLIENTS });

/** Takes a token of the client's bucket; the headers are those of the service. */
export function takeToken(
  client: string,
  { burst, perSecond }: Policy,
): { allowed: boolean; headers: Record<string, string> } {
  const nowMs = performance.now();
  let state = buckets.get(client);
  if (state === undefined) {
    state = { missing: 0, atMs: nowMs };
    buckets.set(client, state);
  }
  const missing = Math.max(0, state.missing - ((nowMs - state.atMs) * perSecond) / 1000);
  const allowed = burst - missing >= 1;
  state.missing = allowed ? missing + 1 : missing;
  state.atMs = nowMs;
  const remaining = Math.floor(burst - state.missing);
  const fullAfterMs = (state.missing / perSecond) * 1000;
  const headers = {
    'x-ratelimit-limit': String(burst),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil((Date.now() + fullAfterMs) / 1000)),
    ratelimit: `"default";r=${remaining};t=${Math.ceil(fullAfterMs / 1000)}`,
    'ratelimit-policy': `"default";q=${burst};w=${Math.ceil(burst / perSecond)}`,
  };
  if (allowed) return { allowed, headers };
  const waitMs = ((1 - (burst - missing)) / perSecond) * 1000;
  return { allowed, headers: { ...headers, 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) } };
}
