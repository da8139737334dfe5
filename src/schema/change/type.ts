import { renameColumns } from '../../database/statement.ts';
import type { Kernel } from '../../engine/builder/kernel.ts';
import { parseId } from '../../engine/core/input.ts';
import type { EventFilter, EventRecord } from '../../engine/events/event.ts';
import { createEntity, type EntityRow } from '../../engine/queries/entity.ts';
import { readById } from '../../engine/queries/loaders.ts';
import { events } from '../../generated/tables.ts';
import { badInput } from '../../platform/errors.ts';
import { type CommentTypes, commentEntity } from '../comment/type.ts';
import {
  COMMENT_CREATED,
  COMMENT_DELETED,
  COMMENT_UPDATED,
  POST_CREATED,
  POST_DELETED,
  POST_UPDATED,
} from '../event-kinds.ts';
import { type PostTypes, postEntity } from '../post/type.ts';

/** All kinds, with what each means. To add one, declare it in its module and list it here. */
const KINDS = [
  [POST_CREATED, 'A post was created.'],
  [POST_UPDATED, 'The text or the tags of a post were changed.'],
  [POST_DELETED, 'A post was deleted, and its comments with it, which get no events of their own.'],
  [COMMENT_CREATED, 'A comment was added.'],
  [COMMENT_UPDATED, 'The text of a comment was changed.'],
  [COMMENT_DELETED, 'A comment was deleted.'],
] as const;

type KindName = (typeof KINDS)[number][0]['name'];

/** A change as the schema shows it: an event of the log. */
type ChangeRow = EntityRow<typeof changeEntity> & { readonly kind: KindName };

/** The events are parameters of the statement that reads changes, which reads no table. */
const changeEntity = createEntity(
  renameColumns(events, {
    id: 'rootId',
    kind: 'kind',
    createdAt: 'createdAt',
    postId: 'rootId',
    commentId: 'partId',
  }),
);

const isKind = (name: string): name is KindName => KINDS.some(([kind]) => kind.name === name);

/** The row of an event. Throws for a kind that no module declares. */
function changeOf({ kind, rootId, partId, createdAt }: EventRecord): ChangeRow {
  if (!isKind(kind)) throw new Error(`no module declares events of the kind ${kind}`);
  return { id: rootId, kind, createdAt, postId: rootId, commentId: partId };
}

export function defineChange({ builder }: Kernel, { Post }: PostTypes, { Comment }: CommentTypes) {
  const ChangeKind = builder.enumType('ChangeKind', {
    description: 'What a change was.',
    values: Object.fromEntries(KINDS.map(([{ name }, description]) => [name, { description }])) as Record<
      KindName,
      { readonly description: string }
    >,
  });
  const Change = builder.objectRef<ChangeRow>('Change').implement({
    description: 'A committed change of a post or a comment.',
    fields: (t) => ({
      kind: t.expose('kind', { type: ChangeKind, description: 'What was changed, and how.' }),
      at: t.expose('createdAt', { type: 'DateTime', description: 'When the change began to be made.' }),
      postId: t.exposeID('postId', {
        description: 'The id of the post, or of the post that the comment is on.',
      }),
      post: t.field({
        type: Post,
        nullable: true,
        edge: { kind: 'one', entity: postEntity, key: 'postId' },
        description:
          'The post as it is when the event is delivered; null if it no longer exists, which this event or a later one tells.',
        resolve: async ({ postId }, _args, { db }) => (await readById(db, postEntity, postId)) ?? null,
      }),
      commentId: t.exposeID('commentId', {
        nullable: true,
        description: 'The id of the comment; null for a change of a post.',
      }),
      comment: t.field({
        type: Comment,
        nullable: true,
        edge: { kind: 'one', entity: commentEntity, key: 'commentId' },
        description:
          'The comment as it is when the event is delivered; null for a change of a post, and if the comment no longer exists, which this event or a later one tells.',
        resolve: async ({ commentId }, _args, { db }) =>
          commentId === null ? null : ((await readById(db, commentEntity, commentId)) ?? null),
      }),
    }),
  });
  return { Change, ChangeKind };
}

type ChangeTypes = ReturnType<typeof defineChange>;

/** The arguments of `changes`, as graphql-js has coerced them. Null counts as absent. */
interface Filters {
  readonly post?: unknown;
  readonly author?: unknown;
  readonly kinds?: unknown;
}

/** The events that the arguments let through. Throws BAD_USER_INPUT. */
function filterOf({ post, author, kinds }: Filters): EventFilter {
  const names = Array.isArray(kinds) ? kinds.map(String) : undefined;
  if (names?.length === 0) throw badInput('kinds', 'must name at least one kind.');
  const [rootId, ownerId] = [post, author].map((id) =>
    id == null ? undefined : (parseId(String(id)) ?? null),
  );
  if (rootId === null || ownerId === null) return { nothing: true };
  return { rootId, ownerId, kinds: names === undefined ? undefined : [...new Set(names)].sort() };
}

export function defineChangeSubscriptions({ builder }: Kernel, { Change, ChangeKind }: ChangeTypes): void {
  builder.subscriptionFields((t) => ({
    changes: t.field({
      type: Change,
      scope: 'posts:read',
      edge: { kind: 'event', shows: 'event', entity: changeEntity, row: changeOf, filter: filterOf },
      description:
        'Every change of posts and comments once it is committed, in one order for all subscribers. Filters that are absent or null let all through; several must all hold.',
      args: {
        post: t.arg.id({
          description:
            'Only changes of this post and its comments. A string that names no post matches nothing.',
        }),
        author: t.arg.id({
          description:
            'Only changes of posts of this account and of the comments on them. A string that names no account matches nothing.',
        }),
        kinds: t.arg({
          type: [ChangeKind],
          description: 'Only changes of these kinds. An empty list is BAD_USER_INPUT.',
        }),
      },
      subscribe: (_root, args, context) => {
        // What the filter refuses is refused before the stream opens.
        filterOf(args);
        return context.events();
      },
      resolve: (change: ChangeRow) => change,
    }),
  }));
}
