import { badInput } from '../../graphql/errors.ts';
import { checkText, parseId, type TextRule } from '../../graphql/input.ts';
import type { Kernel } from '../../graphql/kernel.ts';
import { connectionPage, listPage, type Page } from '../../graphql/pagination/arguments.ts';
import { connectionArguments, limitArgument, offsetArgument } from '../../graphql/pagination/fields.ts';
import { rootConnection, rootList } from '../../graphql/pagination/list-fields.ts';
import type { ListEdge } from '../../graphql/read/entity.ts';
import { readById } from '../../graphql/read/read.ts';
import type { Rules } from '../rules.ts';
import { POST_CREATED } from './events.ts';
import { type PostRow, type PostTypes, postEntity } from './type.ts';

const allPosts: ListEdge<PostRow> = { name: 'posts', entity: postEntity, order: 'newest-first' };

interface Filters {
  readonly offset?: number | null | undefined;
  readonly createdAfter?: Date | null | undefined;
  readonly tag?: string | null | undefined;
}

function filtered(page: Page, { offset, createdAfter, tag }: Filters, rule: TextRule): Page {
  if (createdAfter != null && offset != null)
    throw badInput('offset', 'cannot be combined with "createdAfter".');
  return {
    ...page,
    ...(createdAfter == null ? {} : { createdAfter }),
    ...(tag == null ? {} : { narrowedTo: checkText('tag', tag, rule) }),
  };
}

export function definePostQueries(
  { builder }: Kernel,
  { Post, PostConnection }: PostTypes,
  rules: Rules['post'],
): void {
  builder.queryFields((t) => ({
    post: t.field({
      type: Post,
      nullable: true,
      scope: 'posts:read',
      edge: { kind: 'row', entity: postEntity, id: (args) => parseId(String(args.id)) },
      description: 'The post with this id, or null if there is none.',
      args: {
        id: t.arg.id({
          required: true,
          description: 'The post’s id. A string that is not a UUID matches nothing.',
        }),
      },
      resolve: async (_root, args, { db }) => {
        const id = parseId(args.id);
        return id === undefined ? null : ((await readById(db, postEntity, id)) ?? null);
      },
    }),
    posts: rootList(t, {
      type: Post,
      list: allPosts,
      scope: 'posts:read',
      description: 'All posts, newest first; with `createdAfter`, oldest first.',
      args: {
        limit: limitArgument(t.arg),
        offset: offsetArgument(t.arg),
        createdAfter: t.arg({
          type: 'DateTime',
          description:
            'Only posts created strictly after this instant, oldest first. Cannot be combined with `offset`. It may split posts of the same millisecond; cursors do not.',
        }),
        tag: t.arg.string({ description: 'Only posts with exactly this tag.' }),
      },
      page: (args) => filtered(listPage(args), args, rules.tag),
    }),
    postsConnection: rootConnection(t, {
      type: PostConnection,
      list: allPosts,
      scope: 'posts:read',
      description: 'All posts as a connection, newest first.',
      args: {
        ...connectionArguments(t.arg),
        tag: t.arg.string({ description: 'Only posts with exactly this tag.' }),
      },
      page: (args) => filtered(connectionPage(args), args, rules.tag),
    }),
  }));
}

export function definePostSubscriptions({ builder }: Kernel, { Post }: PostTypes): void {
  builder.subscriptionFields((t) => ({
    postCreated: t.field({
      type: Post,
      scope: 'posts:read',
      edge: {
        kind: 'event',
        shows: 'row',
        entity: postEntity,
        filter: () => ({ kinds: [POST_CREATED.name] }),
      },
      description:
        'Every post once it is committed: one event per post, in the same order for all subscribers.',
      subscribe: (_root, _args, context) => context.events(),
      resolve: (post: PostRow) => post,
    }),
  }));
}
