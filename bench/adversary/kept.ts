/** The worst mixes that the search and readers of the code have found so far. CI makes them. */
export const KEPT: readonly (readonly string[])[] = [
  ['JSON of 19,000 values under a key', 'ids in a list', 'pipelining'],
  ['changes of password', 'log-ins and log-outs', 'wrong passwords'],
  ['a locked post', 'large duplicates of what waits'],
  ['dear reads by resolvers', 'forty streams by resolvers'],
  ['replays of large stored answers', 'large answers, compressed'],
  ['large posts to forty streams that nobody reads', 'keys made and revoked'],
  ['OAuth sign-ins and refreshes', 'tokens of an OAuth client', 'OAuth pages'],
  ['the schema, executed', 'made-up keys', 'idle connections'],
];
