import type { EventFilter } from '../../events/filter.ts';
import { badInput } from '../../graphql/errors.ts';
import { parseId } from '../../graphql/input.ts';
import type { Kernel } from '../../graphql/kernel.ts';
import { type ChangeRow, type ChangeTypes, changeEntity, changeOf } from './type.ts';

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
