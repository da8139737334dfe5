import type { IncomingHttpHeaders } from 'node:http';
import { brotliCompressSync, constants } from 'node:zlib';

const ORIGINS = new Set(process.env.BROWSER_ORIGINS?.split(','));
const MAX_PLAIN_BYTES = 1_024;
/** As the service compresses. */
const OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** The least that CORS asks for. */
export function forBrowsers({ origin }: IncomingHttpHeaders): Record<string, string> {
  if (origin === undefined || !ORIGINS.has(origin)) return {};
  return {
    vary: 'Origin, Accept-Encoding',
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
  };
}

/** A response as browsers like it best; undefined where it stays as it is. Never where there is a cookie. */
export function compress(
  { 'accept-encoding': accepted, cookie }: IncomingHttpHeaders,
  json: string,
): Buffer | undefined {
  if (accepted === undefined || cookie !== undefined || json.length <= MAX_PLAIN_BYTES) return undefined;
  return accepted.includes('br') ? brotliCompressSync(json, OPTIONS) : undefined;
}
