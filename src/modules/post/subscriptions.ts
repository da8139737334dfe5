import { builder } from '../../graphql/builder.ts';
import { Post, type PostRow, postEntity } from './type.ts';

builder.subscriptionFields((t) => ({
  postCreated: t.field({
    type: Post,
    scope: 'posts:read',
    edge: { kind: 'event', entity: postEntity },
    description:
      'Every post once it is committed: one event per post, in the same order for all subscribers.',
    subscribe: (_root, _args, context) => context.events(),
    resolve: (post: PostRow) => post,
  }),
}));
