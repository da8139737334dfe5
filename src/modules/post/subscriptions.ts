import type { Kernel } from '../../graphql/kernel.ts';
import { POST_CREATED } from './events.ts';
import { type PostRow, type PostTypes, postEntity } from './type.ts';

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
