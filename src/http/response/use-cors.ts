import type { CORSOptions } from 'graphql-yoga';
import { pathOf } from '../../request/url-path.ts';
import { isOAuthPage } from '../oauth/paths.ts';

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
];
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** CORS for the configured origins only. Any other origin gets no CORS headers at all. */
export function corsFor(origins: readonly string[]): (request: Request) => CORSOptions {
  const allowed = new Set(origins);
  return (request) => {
    const origin = request.headers.get('origin');
    if (origin === null || !allowed.has(origin) || isOAuthPage(pathOf(request.url))) return false;
    return {
      origin: [origin],
      credentials: true,
      methods: ['GET', 'POST'],
      exposedHeaders: EXPOSED,
      maxAge: PREFLIGHT_MAX_AGE_SECONDS,
    };
  };
}
