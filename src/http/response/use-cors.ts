import type { HttpPlugin } from '../plugin.ts';
import { addVary } from './vary.ts';

const EXPOSED = [
  'X-Request-Id',
  'X-Event-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Idempotency-Replayed',
  'X-Session-Warning',
].join(', ');
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** CORS for the configured origins only. Any other origin gets no CORS headers at all. */
export function useCors(origins: readonly string[]): HttpPlugin {
  const allowed = new Set(origins);
  return {
    onResponse({ method, headers: asked }, { headers }, { route }) {
      if (allowed.size === 0) return;
      // Caches must keep responses apart by origin (Fetch, section 3.2.5).
      addVary(headers, 'Origin');
      const origin = asked.get('origin');
      if (origin === null || !allowed.has(origin) || !route.cors) return;
      headers.set('access-control-allow-origin', origin);
      headers.set('access-control-allow-credentials', 'true');
      headers.set('access-control-expose-headers', EXPOSED);
      if (method !== 'OPTIONS') return;
      headers.set('access-control-allow-methods', route.methods.join(', '));
      headers.set('access-control-max-age', String(PREFLIGHT_MAX_AGE_SECONDS));
      const fields = asked.get('access-control-request-headers');
      if (fields === null) return;
      headers.set('access-control-allow-headers', fields);
      addVary(headers, 'Access-Control-Request-Headers');
    },
  };
}
