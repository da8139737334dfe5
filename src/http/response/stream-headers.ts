/**
 * Headers of a response that is sent piece by piece. Proxies in Node compress by default and then hold the pieces back, except
 * under `no-transform` (RFC 9111 section 5.2.2.6). nginx buffers by default.
 */
export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};
