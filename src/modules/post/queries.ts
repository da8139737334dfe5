import { builder } from '../../graphql/builder.ts';
import { badInput } from '../../graphql/errors.ts';
import { parseId } from '../../graphql/input.ts';
import { connectionPage, listPage, type Page } from '../../graphql/pagination/arguments.ts';
import {
  connectionArguments,
  limitArgument,
  listCost,
  offsetArgument,
} from '../../graphql/pagination/fields.ts';
import { readSlice } from '../../graphql/pagination/slice.ts';
import type { ListEdge } from '../../graphql/read/entity.ts';
import { readById, readPage } from '../../graphql/read/read.ts';
import { PostConnection } from './edges.ts';
import { checkTag } from './rules.ts';
import { Post, type PostRow, postEntity } from './type.ts';

const allPosts: ListEdge<PostRow> = { name: 'posts', entity: postEntity, order: 'newest-first' };

interface Filters {
  readonly offset?: number | null | undefined;
  readonly createdAfter?: Date | null | undefined;
  readonly tag?: string | null | undefined;
}

function filtered(page: Page, { offset, createdAfter, tag }: Filters): Page {
  if (createdAfter != null && offset != null)
    throw badInput('offset', 'does not go with "createdAfter", which names the place itself.');
  return {
    ...page,
    ...(createdAfter == null ? {} : { createdAfter }),
    ...(tag == null ? {} : { tag: checkTag('tag', tag) }),
  };
}

builder.queryFields((t) => ({
  post: t.field({
    type: Post,
    nullable: true,
    scope: 'posts:read',
    edge: { kind: 'row', entity: postEntity, id: (args) => parseId(String(args.id)) },
    description: 'The post with the id; null where there is none. Needs the scope `posts:read`.',
    args: {
      id: t.arg.id({ required: true, description: 'The post’s id. A string that is no UUID names nothing.' }),
    },
    resolve: async (_root, args, { db }) => {
      const id = parseId(args.id);
      return id === undefined ? null : ((await readById(db, postEntity, id)) ?? null);
    },
  }),
  posts: t.field({
    type: [Post],
    scope: 'posts:read',
    edge: { kind: 'many', list: allPosts, page: (args) => filtered(listPage(args), args) },
    complexity: listCost,
    description:
      'All posts, the newest first; with `createdAfter` the oldest first. Needs the scope `posts:read`.',
    args: {
      limit: limitArgument(t.arg),
      offset: offsetArgument(t.arg),
      createdAfter: t.arg({
        type: 'DateTime',
        description:
          'Only posts created strictly after this instant, the oldest first. Not together with `offset`. Posts of one millisecond may be split by it: cursors are exact.',
      }),
      tag: t.arg.string({ description: 'Only posts with this tag, letter for letter.' }),
    },
    resolve: (_root, args, { db }) => readPage(db, allPosts, filtered(listPage(args), args)),
  }),
  postsConnection: t.field({
    type: PostConnection,
    scope: 'posts:read',
    edge: {
      kind: 'connection',
      list: allPosts,
      page: ({ tag, ...args }) => filtered(connectionPage(args), { tag: tag as string | null | undefined }),
    },
    complexity: listCost,
    description: 'All posts page by page, the newest first. Needs the scope `posts:read`.',
    args: {
      ...connectionArguments(t.arg),
      tag: t.arg.string({ description: 'Only posts with this tag, letter for letter.' }),
    },
    resolve: (_root, args, { db }) =>
      readSlice(db, allPosts, filtered(connectionPage(args), { tag: args.tag })),
  }),
}));
