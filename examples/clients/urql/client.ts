import { Client, cacheExchange, type Exchange, fetchExchange } from '@urql/core';
import { resumingFetch } from '../../resuming-fetch.ts';

/**
 * The headers authenticate: `{ authorization: 'Bearer …' }`, or none beside a cookie. Further exchanges stand before the
 * one that sends.
 */
export function createUrqlClient(
  url: string,
  headers: Readonly<Record<string, string>>,
  ...exchanges: readonly Exchange[]
): Client {
  return new Client({
    url,
    exchanges: [cacheExchange, ...exchanges, fetchExchange],
    fetchSubscriptions: true,
    fetch: resumingFetch,
    fetchOptions: { headers, credentials: 'include' },
    preferGetMethod: false,
  });
}
