import { deletion } from '../jobs/job.ts';

/** Contract section 8: their owner still sees them for this long. */
const USELESS = "<= now() - interval '30 days'";

export const expiredSessions = deletion('sessions', { table: 'sessions', condition: 'expires_at <= now()' });
/** Keys that have been of no use for 30 days. */
export const oldApiKeys = deletion(
  'api_keys',
  { table: 'api_keys', condition: `expires_at ${USELESS}` },
  { table: 'api_keys', condition: `revoked_at ${USELESS}` },
);
export const expiredStreamTokens = deletion('stream_tokens', {
  table: 'stream_tokens',
  condition: 'expires_at <= now()',
});
/**
 * Blocklist entries of expired tokens, which nobody can use any more. A margin of 120 seconds: on an instance whose clock
 * is behind, a token is valid a little longer.
 */
export const expiredTokens = deletion('revoked_tokens', {
  table: 'revoked_tokens',
  key: 'jti',
  condition: "expires_at <= now() - interval '120 seconds'",
});
