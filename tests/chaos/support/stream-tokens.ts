import { graphqlPost } from '../../support/graphql.ts';
import type { Selection } from './selections.ts';

/** Where a stream token opens its subscription. */
export async function issuePath(
  origin: string,
  key: string,
  { query, variables }: Pick<Selection, 'query' | 'variables'>,
): Promise<string> {
  const response = await fetch(`${origin}/graphql/stream-token`, graphqlPost(query, { key, variables }));
  if (response.status !== 200) throw new Error(`a stream token was refused with ${response.status}`);
  const { token } = (await response.json()) as { token: string };
  return `/graphql?stream_token=${token}`;
}

/** The paths of tokens, one for each key and selection: any number of clients may use one. */
export async function issuePaths(
  origin: string,
  keys: readonly string[],
  selections: readonly Selection[],
): Promise<(key: string, selection: Selection) => string> {
  const paths = new Map<string, string>();
  const nameOf = (key: string, { name }: Selection) => `${key} ${name}`;
  for (const key of keys)
    for (const selection of selections)
      paths.set(nameOf(key, selection), await issuePath(origin, key, selection));
  return (key, selection) => {
    const path = paths.get(nameOf(key, selection));
    if (path === undefined) throw new Error('no stream token was issued for this selection');
    return path;
  };
}
