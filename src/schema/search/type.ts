import { defineConnection } from '../../engine/builder/connection-type.ts';
import { rootConnection } from '../../engine/builder/connections.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import type { ListRelation } from '../../engine/queries/entity.ts';
import { connectionPage, DEFAULT_LIMIT, MAX_LIMIT } from '../../engine/queries/pagination.ts';
import { badInput } from '../../platform/errors.ts';
import type { ContentLimits } from '../content-limits.ts';
import { narrowPosts, type PostListInput } from '../post/list-arguments.ts';
import { type PostRow, type PostTypes, postEntity } from '../post/type.ts';
import { searchRows } from './index-pages.ts';
import { MIN_PREFIX, parseQuery } from './query.ts';

const foundPosts: ListRelation<PostRow> = {
  name: 'found_posts',
  entity: postEntity,
  order: 'newest-first',
  rows: searchRows,
};

/** A search reads up to 8,000 entries of the index, and ten of them cost as much as one field. */
const SEARCH_COST = 800;

interface SearchInput extends Pick<PostListInput, 'filter'> {
  readonly query: string;
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
}

/** @throws {ApiError} BAD_USER_INPUT */
function searchPage({ query, filter, first, after }: SearchInput, limits: ContentLimits) {
  const { filter: { equal, values, ...others } = {} } = narrowPosts({ filter }, limits.post);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw badInput('filter', `can have "author" and "tags" in a search, but has "${unknown}".`);
  const terms = parseQuery(query, { ...(equal && { equal }), ...(values && { values }) }, limits.search);
  return { ...connectionPage({ first, after }), terms: { ...terms } };
}

export function defineSearch(
  toolkit: SchemaToolkit,
  { Post, PostFilter }: PostTypes,
  limits: ContentLimits,
): void {
  const { query, maxWords } = limits.search;
  const SearchPostConnection = defineConnection(toolkit, 'SearchPost', Post, { item: 'Post' });
  toolkit.builder.queryFields((t) => ({
    searchPosts: rootConnection(t, {
      type: SearchPostConnection,
      list: foundPosts,
      scope: 'posts:read',
      onceCost: SEARCH_COST,
      description: `The posts whose title and body have all words of a query, newest first. A page can have fewer posts than requested although the list continues. Costs as much as ${SEARCH_COST} fields.`,
      args: {
        query: t.arg.string({
          required: true,
          description: `All words that a post must have. \`"…"\` is a phrase, \`-word\` excludes, \`wor*\` is a prefix of ${MIN_PREFIX} characters or more. At most ${query.max} characters and ${maxWords} words.`,
        }),
        filter: t.arg({
          type: PostFilter,
          description: 'Only posts with this `author` and these `tags`. A search takes no other conditions.',
        }),
        first: t.arg.int({
          description: `The maximum number of posts to return: 0 to ${MAX_LIMIT}, ${DEFAULT_LIMIT} if absent or null.`,
        }),
        after: t.arg.string({
          description: 'Returns only the posts after this cursor. If null, starts with the newest post.',
        }),
      },
      page: (args) => searchPage(args, limits),
    }),
  }));
}
