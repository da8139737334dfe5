import { DEFAULT_LIMIT, sizeFaults } from './pages.ts';
import type { Context } from './schema.ts';
import { MADE_TEXT, type State } from './state.ts';
import { badInput, reject, textFaults } from './wrong.ts';

interface TagRow {
  readonly name: string;
  readonly postCount: number;
}

type TagOrder = 'POST_COUNT' | 'NAME';

/** What a cursor of tags stands for. */
export interface TagPlace extends TagRow {
  readonly orderBy: TagOrder;
}

interface TagArguments {
  readonly prefix?: string | null;
  readonly orderBy?: TagOrder | null;
  readonly first?: number | null;
  readonly after?: string | null;
}

const byName = (a: TagRow, b: TagRow) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
const ORDERS = {
  NAME: byName,
  POST_COUNT: (a: TagRow, b: TagRow) => b.postCount - a.postCount || byName(a, b),
};

export function countTags({ posts }: Pick<State, 'posts'>): TagRow[] {
  const counts = Map.groupBy(
    posts.flatMap(({ tags }) => tags),
    (name) => name,
  );
  return [...counts].map(([name, { length }]) => ({ name, postCount: length }));
}

/** All tags. By their number of posts, a prefix is looked for in more tags than the page has. */
export function tags(_: never, { prefix, orderBy, first, after }: TagArguments, context: Context) {
  const { state, tagPlaces } = context;
  const order = orderBy ?? 'POST_COUNT';
  const from = after == null ? undefined : tagPlaces.get(after);
  reject([
    ...textFaults('prefix', prefix, { max: 50 }),
    ...sizeFaults({ first: first ?? null }),
    ...(after != null && from?.orderBy !== order ? [badInput('after')] : []),
  ]);
  const compare = ORDERS[order];
  const rest = countTags(state)
    .filter((tag) => from === undefined || compare(from, tag) < 0)
    .sort(compare);
  const matching = rest.filter(({ name }) => name.startsWith(prefix ?? ''));
  const nodes = matching.slice(0, first ?? DEFAULT_LIMIT);
  const isCut = matching.length > nodes.length;
  const last = isCut ? nodes.at(-1) : (order === 'NAME' ? matching : rest).at(-1);
  const cursorOf = ({ name, postCount }: TagRow) =>
    [...tagPlaces].find(
      ([, place]) => place.name === name && place.postCount === postCount && place.orderBy === order,
    )?.[0] ?? MADE_TEXT;
  const [start] = nodes;
  return {
    nodes,
    edges: nodes.map((node) => ({ node, cursor: cursorOf(node) })),
    pageInfo: {
      hasNextPage: isCut,
      hasPreviousPage: after != null,
      startCursor: start === undefined ? null : cursorOf(start),
      endCursor: last === undefined ? null : cursorOf(last),
    },
  };
}
