import { cacheExchange, type Exchange, Client as UrqlClient } from '@urql/core';
import type { Client } from 'content-graph-client';
import { contentGraphExchange } from 'content-graph-client/urql';

/** Creates the client of urql. Further exchanges stand before the exchange that sends. */
export function createUrqlClient(client: Client, ...exchanges: readonly Exchange[]): UrqlClient {
  return new UrqlClient({
    // The exchange sends to the URL of the client instead.
    url: '/graphql',
    exchanges: [cacheExchange, ...exchanges, contentGraphExchange(client)],
    preferGetMethod: false,
  });
}
