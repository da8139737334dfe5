import { ApolloClient, ApolloLink, InMemoryCache } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import type { Client } from 'content-graph-client';
import { contentGraphLink } from 'content-graph-client/apollo';

function createCache(): InMemoryCache {
  return new InMemoryCache({
    possibleTypes: { Node: ['User', 'Post', 'Comment'] },
    typePolicies: {
      Query: {
        fields: {
          postsConnection: relayStylePagination(['tag']),
          usersConnection: relayStylePagination(),
          // A post that a list has read needs no separate request.
          post: (known, { args, toReference }) =>
            known === undefined ? toReference({ __typename: 'Post', id: args?.id }) : known,
        },
      },
      User: { fields: { postsConnection: relayStylePagination() } },
      Post: { fields: { commentsConnection: relayStylePagination() } },
    },
  });
}

/** Creates the client of Apollo. Further links stand before the link that sends. */
export function createApolloClient(client: Client, ...links: readonly ApolloLink[]): ApolloClient {
  return new ApolloClient({
    cache: createCache(),
    link: ApolloLink.from([...links, contentGraphLink(client)]),
  });
}
