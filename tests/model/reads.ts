import { connection, MAX_IDS, type PageArguments, sizeFaults, slice } from './pages.ts';
import { FORBIDDEN, holds, needEmail, needSelf } from './permissions.ts';
import type { Context, Resolvers } from './schema.ts';
import { byAge, MADE_TEXT, named, type Place, type State, shownInstant } from './state.ts';
import type { ChangeRow, CommentRow, KeyRow, PostRow, SessionRow, UserRow } from './tables.ts';
import { badInput, reject, textFaults, Wrong } from './wrong.ts';

type Args<T = unknown> = PageArguments & T;
const newestFirst = <Row extends PostRow | CommentRow | KeyRow>(rows: readonly Row[]) =>
  [...rows].sort(byAge).reverse();

function userOf({ users }: State, id: string): UserRow {
  const user = users.find((row) => row.id === id);
  if (user === undefined) throw new Error('a row without its author');
  return user;
}

function tagged(posts: readonly PostRow[], tag: string | null | undefined): readonly PostRow[] {
  return tag == null ? posts : posts.filter(({ tags }) => tags.includes(tag));
}

/** Contract section 1: as long as a tag can be. */
const TAG = { min: 1, max: 50 };

type PostsArguments = Args<{ createdAfter?: number | null; tag?: string | null }>;

function posts(_: never, args: PostsArguments, context: Context): readonly PostRow[] {
  const both = args.createdAfter != null && args.offset != null;
  const conflict = both ? [badInput('offset'), badInput('createdAfter')] : [];
  reject([...sizeFaults(args), ...textFaults('tag', args.tag, TAG), ...conflict]);
  const rows = newestFirst(tagged(context.state.posts, args.tag));
  const { createdAfter } = args;
  if (createdAfter == null) return slice(rows, args);
  return slice(
    rows.reverse().filter((row) => row.createdAt > createdAfter),
    args,
  );
}

function postsConnection(_: never, args: PostsArguments, context: Context) {
  const rows = newestFirst(tagged(context.state.posts, args.tag));
  return connection(rows, args, context, {
    descending: true,
    faults: textFaults('tag', args.tag, TAG),
  });
}

const byAuthor = ({ state }: Context, { id }: UserRow) =>
  newestFirst(state.posts.filter(({ authorId }) => authorId === id));

const commentsBy = ({ state }: Context, { id }: UserRow) =>
  newestFirst(state.comments.filter(({ authorId }) => authorId === id));

const commentsOn = ({ state }: Context, { id }: PostRow) =>
  state.comments.filter(({ postId }) => postId === id).sort(byAge);

/** Fields that every type has. */
const PLACE = {
  createdAt: ({ createdAt }: { createdAt: number }) => shownInstant(createdAt),
};

/** Fields of what can be changed. */
const VERSIONED = {
  ...PLACE,
  updatedAt: ({ updatedAt }: { updatedAt: number }) => shownInstant(updatedAt),
};

const FOUND_WITH = { User: 'users:read', Post: 'posts:read', Comment: 'posts:read' } as const;

/** A row with its type; an error instead of one that the caller may not read. Only that place is null then. */
function nodeOf(id: string, { state, caller }: Context): object | null {
  for (const [type, rows] of [
    ['User', state.users],
    ['Post', state.posts],
    ['Comment', state.comments],
  ] as const) {
    const row = named<Place>(rows, id);
    if (row === undefined) continue;
    return holds(caller, FOUND_WITH[type]) ? { ...row, __typename: type } : new Wrong([FORBIDDEN]);
  }
  return null;
}

const onType = (type: string, fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).map(([field, resolve]) => [`${type}.${field}`, resolve]));

const Query = {
  node: (_: never, { id }: { id: string }, context: Context) => nodeOf(id, context),
  nodes(_: never, { ids }: { ids: readonly string[] }, context: Context) {
    reject(ids.length > MAX_IDS ? [badInput('ids')] : []);
    return ids.map((id) => nodeOf(id, context));
  },
  post(_: never, { id }: { id: string }, context: Context) {
    return named(context.state.posts, id);
  },
  postBySlug(_: never, { slug }: { slug: string }, { state }: Context) {
    const current = state.posts.find((row) => row.slug === slug);
    const id = state.formerSlugs[slug] ?? (slug === slug.toLowerCase() ? slug : '');
    return current ?? state.posts.find((row) => row.id === id);
  },
  posts,
  postsConnection,
  user(_: never, { id }: { id: string }, context: Context) {
    return named(context.state.users, id);
  },
  userByHandle(_: never, { handle }: { handle: string }, context: Context) {
    reject(textFaults('handle', handle, {}));
    return context.state.users.find((user) => user.handle === handle.toLowerCase());
  },
  users(_: never, args: Args, context: Context) {
    reject(sizeFaults(args));
    return slice(context.state.users, args);
  },
  usersConnection(_: never, args: Args, context: Context) {
    return connection(context.state.users, args, context, {});
  },
  viewer(_: never, __: unknown, context: Context) {
    return userOf(context.state, context.caller?.userId ?? '');
  },
};

const Subscription = {
  postCreated(event: PostRow) {
    return event;
  },
  changes(event: ChangeRow & { at: number }) {
    return event;
  },
};

const Change = {
  at: ({ at }: { at: number }) => shownInstant(at),
  post: ({ postId }: ChangeRow, _: unknown, { state }: Context) => named(state.posts, postId) ?? null,
  comment: ({ commentId }: ChangeRow, _: unknown, { state }: Context) =>
    commentId === null ? null : (named(state.comments, commentId) ?? null),
};

const User = {
  ...PLACE,
  email(user: UserRow, _: unknown, context: Context) {
    context.shown.add(needEmail(context, user.id));
    return user.email;
  },
  role({ id, role }: UserRow, _: unknown, { caller }: Context) {
    return caller?.userId === id || caller?.role === 'admin' ? role.toUpperCase() : null;
  },
  comments(user: UserRow, args: Args, context: Context) {
    reject(sizeFaults(args));
    return slice(commentsBy(context, user), args);
  },
  commentsConnection(user: UserRow, args: Args, context: Context) {
    return connection(commentsBy(context, user), args, context, { descending: true });
  },
  posts(user: UserRow, args: Args, context: Context) {
    reject(sizeFaults(args));
    return slice(byAuthor(context, user), args);
  },
  postsConnection(user: UserRow, args: Args, context: Context) {
    return connection(byAuthor(context, user), args, context, { descending: true });
  },
  apiKeys(user: UserRow, _: unknown, context: Context) {
    needSelf(context, user.id);
    const own = context.state.keys.filter(({ userId }) => userId === user.id);
    return newestFirst(own).slice(0, 100);
  },
  sessions(user: UserRow, _: unknown, context: Context) {
    needSelf(context, user.id);
    const own = context.state.sessions.filter(({ userId }) => userId === user.id);
    return own.sort((a, b) => b.lastSeenAt - a.lastSeenAt).slice(0, 100);
  },
  oauthGrants(user: UserRow, _: unknown, context: Context) {
    needSelf(context, user.id);
    return [];
  },
};

/** What becomes a space in an excerpt. */
const BREAKS = /\r\n|[\n\r\t\v\f\u0085\u2028\u2029]/g;

function excerpt({ body }: PostRow, { length }: { length?: number | null }): string {
  const most = length ?? 200;
  reject(most < 1 || most > 1_000 ? [badInput('length')] : []);
  const characters = [...body];
  const shown = characters.slice(0, most).join('').replace(BREAKS, ' ');
  const [next] = characters.slice(most);
  if (next === undefined) return shown;
  const end =
    next.replace(BREAKS, ' ') === ' ' || !shown.includes(' ') ? shown.length : shown.lastIndexOf(' ');
  return `${shown.slice(0, end).replace(/ +$/, '') || shown}…`;
}

const Post = {
  ...VERSIONED,
  excerpt,
  author: ({ authorId }: PostRow, _: unknown, { state }: Context) => userOf(state, authorId),
  commentCount: (post: PostRow, _: unknown, context: Context) => commentsOn(context, post).length,
  comments(post: PostRow, args: Args, context: Context) {
    reject(sizeFaults(args));
    return slice(commentsOn(context, post), args);
  },
  commentsConnection(post: PostRow, args: Args, context: Context) {
    return connection(commentsOn(context, post), args, context, {});
  },
};

const Comment = {
  ...VERSIONED,
  author: ({ authorId }: CommentRow, _: unknown, { state }: Context) => userOf(state, authorId),
  post({ postId }: CommentRow, _: unknown, context: Context) {
    return context.state.posts.find(({ id }) => id === postId);
  },
};

/** When something was last used, and what follows from it, changes while it is asked for. */
const ApiKey = {
  ...PLACE,
  expiresAt: ({ expiresAt }: KeyRow) => (expiresAt === null ? null : shownInstant(expiresAt)),
  lastUsedAt: () => MADE_TEXT,
};

const CreatedApiKey = {
  apiKey: ({ apiKey }: { apiKey: KeyRow }) => apiKey,
  key(made: { key: string }, _: unknown, context: Context) {
    context.shown.add('secret');
    return made.key;
  },
};

const Session = {
  ...PLACE,
  current: ({ id }: SessionRow, _: unknown, { caller }: Context) => id === caller?.sessionId,
  expiresAt: () => MADE_TEXT,
  lastSeenAt: () => MADE_TEXT,
};

/** What the contract says that reading gives, field by field. */
export const READS = Object.assign(
  {},
  ...Object.entries({ Query, Subscription, Change, User, Post, Comment, ApiKey, CreatedApiKey, Session }).map(
    ([type, fields]) => onType(type, fields),
  ),
) as Resolvers;
