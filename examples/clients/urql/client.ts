import { Client, cacheExchange, fetchExchange } from '@urql/core';
import { resumingFetch } from '../../resuming-fetch.ts';

/** The headers authenticate: `{ authorization: 'Bearer …' }`, or none beside a cookie. */
export function createUrqlClient(url: string, headers: Readonly<Record<string, string>>): Client {
  return new Client({
    url,
    exchanges: [cacheExchange, fetchExchange],
    fetchSubscriptions: true,
    fetch: resumingFetch,
    fetchOptions: { headers, credentials: 'include' },
    preferGetMethod: false,
  });
}
