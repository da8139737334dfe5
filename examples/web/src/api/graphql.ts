import { initGraphQLTada } from 'gql.tada';
import type { introspection } from './graphql-env.d.ts';

export const graphql = initGraphQLTada<{
  introspection: introspection;
  /** RFC 3339, in UTC with milliseconds. */
  scalars: { DateTime: string };
}>();
