import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
import { SetContextLink } from '@apollo/client/link/context';
import { RetryLink } from '@apollo/client/link/retry';
import { relayStylePagination } from '@apollo/client/utilities';
import { OperationTypeNode } from 'graphql';
import { createIdempotencyKey } from '../../retry.ts';
import { ResumingLink } from './resuming-link.ts';
import { isTransient, pauseMs, rejectionsAsErrors } from './retries.ts';
import { fetchUnlessSilent } from './silence.ts';

const ATTEMPTS = 8;

/** One key for each mutation, unless the caller gives one. It is set before RetryLink: all attempts have the same. */
const idempotencyKeys = new SetContextLink(({ headers }, { operationType }) =>
  operationType === OperationTypeNode.MUTATION
    ? { headers: { 'idempotency-key': `"${createIdempotencyKey()}"`, ...headers } }
    : {},
);

const retries = new RetryLink({
  attempts: (attempt, _operation, error) => attempt < ATTEMPTS && isTransient(error),
  delay: (attempt, _operation, error) => pauseMs(attempt, error),
});

function createCache(): InMemoryCache {
  return new InMemoryCache({
    possibleTypes: { Node: ['User', 'Post', 'Comment'] },
    typePolicies: {
      Query: {
        fields: {
          postsConnection: relayStylePagination(['tag']),
          usersConnection: relayStylePagination(),
          // A post that a list has read needs no request of its own.
          post: (known, { args, toReference }) =>
            known === undefined ? toReference({ __typename: 'Post', id: args?.id }) : known,
        },
      },
      User: { fields: { postsConnection: relayStylePagination() } },
      Post: { fields: { commentsConnection: relayStylePagination() } },
    },
  });
}

/** Without an API key, browsers send the session cookie. Further links stand before the one that sends. */
export function createClient(uri: string, apiKey?: string, ...links: readonly ApolloLink[]): ApolloClient {
  return new ApolloClient({
    cache: createCache(),
    link: ApolloLink.from([
      idempotencyKeys,
      retries,
      new ResumingLink(),
      rejectionsAsErrors,
      ...links,
      new HttpLink({
        uri,
        fetch: fetchUnlessSilent,
        credentials: 'include',
        headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      }),
    ]),
  });
}
