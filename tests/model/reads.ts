import { connection, type Listed, MAX_IDS, type PageArguments, sizeFaults, slice } from './pages.ts';
import { FORBIDDEN, holds, needEmail, needSelf } from './permissions.ts';
import type { Context, Resolvers } from './schema.ts';
import { byAge, lastChange, MADE_TEXT, named, type Place, type State, shownInstant } from './state.ts';
import type { ChangeRow, CommentRow, KeyRow, PostRow, SessionRow, UserRow } from './tables.ts';
import { tags } from './tags.ts';
import { isFound, queryFaults } from './words.ts';
import { badInput, type Fault, reject, textFaults, Wrong } from './wrong.ts';

type Args<T = unknown> = PageArguments & T;
const newestFirst = <Row extends PostRow | CommentRow | KeyRow>(rows: readonly Row[]) =>
  [...rows].sort(byAge).reverse();

function userOf({ users }: State, id: string): UserRow {
  const user = users.find((row) => row.id === id);
  if (user === undefined) throw new Error('a row without its author');
  return user;
}

/** Contract section 1: as long as a tag can be. */
const TAG = { min: 1, max: 50 };
const MAX_FILTER_TAGS = 5;

type Order = 'NEWEST' | 'OLDEST' | 'RECENTLY_UPDATED';

interface Filter {
  readonly author?: string | null;
  readonly tags?: readonly string[] | null;
  readonly createdAfter?: number | null;
  readonly createdBefore?: number | null;
  readonly updatedAfter?: number | null;
}

interface Narrowing {
  readonly filter?: Filter | null;
  readonly orderBy?: Order | null;
}

type PostsArguments = Args<Narrowing & { createdAfter?: number | null; tag?: string | null }>;

const narrowingFaults = ({ filter }: Narrowing): Fault[] => {
  const tags = filter?.tags ?? [];
  const wrongTags = tags.flatMap((tag) => textFaults('filter', tag, TAG));
  return [...wrongTags, ...(tags.length > MAX_FILTER_TAGS ? [badInput('filter')] : [])];
};

const byUpdate = (a: PostRow, b: PostRow) =>
  byAge({ ...a, createdAt: a.updatedAt }, { ...b, createdAt: b.updatedAt });

/** Posts in an order, with a condition that is checked row by row where no index has it. */
function narrowed(
  posts: readonly PostRow[],
  { filter, orderBy }: Narrowing,
  isOfAuthor: boolean,
): Listed<PostRow> {
  const { author, createdAfter, createdBefore, updatedAfter } = filter ?? {};
  const tags = [...new Set(filter?.tags ?? [])];
  const isByUpdate = orderBy === 'RECENTLY_UPDATED';
  const sorted = [...posts].sort(isByUpdate ? byUpdate : byAge);
  const isByTag = !isByUpdate && !isOfAuthor && author == null;
  const hasTag = (tag: string | undefined) => (post: PostRow) => tag === undefined || post.tags.includes(tag);
  const isCreated = ({ createdAt }: PostRow) =>
    (createdAfter == null || createdAt > createdAfter) &&
    (createdBefore == null || createdAt < createdBefore);
  const isUpdated = ({ updatedAt }: PostRow) => updatedAt > (updatedAfter ?? Number.NEGATIVE_INFINITY);
  const rows = sorted
    .filter(({ authorId }) => author == null || authorId === author.toLowerCase())
    .filter(isByUpdate ? isUpdated : isCreated)
    .filter(hasTag(isByTag ? tags[0] : undefined));
  const checkedTags = isByTag ? tags.slice(1) : tags;
  const checksTime = isByUpdate ? (createdAfter ?? createdBefore) != null : updatedAfter != null;
  const check = (post: PostRow) =>
    checkedTags.every((tag) => hasTag(tag)(post)) && (isByUpdate ? isCreated : isUpdated)(post);
  return {
    rows: orderBy === 'OLDEST' ? rows : rows.reverse(),
    check: checkedTags.length > 0 || checksTime ? check : undefined,
  };
}

/** The arguments of the whole list, with what they have beside the filter in it. */
function joined({ filter, orderBy, tag, createdAfter }: PostsArguments): Narrowing {
  const tags = tag == null ? filter?.tags : [tag];
  return {
    filter: { ...filter, tags: tags ?? null, createdAfter: createdAfter ?? filter?.createdAfter ?? null },
    orderBy: createdAfter == null ? (orderBy ?? null) : 'OLDEST',
  };
}

const joiningFaults = ({ filter, orderBy, tag, createdAfter, offset }: PostsArguments): Fault[] => [
  ...(createdAfter != null && offset != null ? [badInput('offset')] : []),
  ...(createdAfter != null && filter?.createdAfter != null ? [badInput('createdAfter')] : []),
  ...(createdAfter != null && orderBy != null && orderBy !== 'OLDEST' ? [badInput('orderBy')] : []),
  ...(tag != null && filter?.tags != null ? [badInput('tag')] : []),
];

function posts(_: never, args: PostsArguments, context: Context): readonly PostRow[] {
  reject([
    ...sizeFaults(args),
    ...textFaults('tag', args.tag, TAG),
    ...narrowingFaults(args),
    ...joiningFaults(args),
  ]);
  return slice(narrowed(context.state.posts, joined(args), false), args);
}

const isReordered = ({ orderBy }: Narrowing) => orderBy != null && orderBy !== 'NEWEST';

function postsConnection(_: never, args: PostsArguments, context: Context) {
  return connection(narrowed(context.state.posts, joined(args), false), args, context, {
    descending: true,
    reordered: isReordered(args),
    faults: [...textFaults('tag', args.tag, TAG), ...narrowingFaults(args), ...joiningFaults(args)],
  });
}

type SearchArguments = Args<Pick<Narrowing, 'filter'> & { readonly query: string }>;

/** The rows of an index that has followed all events: the model has no other moment. */
function searchPosts(_: never, args: SearchArguments, context: Context) {
  const { query, filter } = args;
  const { author, tags: named, ...others } = filter ?? {};
  const isOther = Object.values(others).some((value) => value !== null);
  const faults = [...queryFaults(query), ...narrowingFaults(args), ...(isOther ? [badInput('filter')] : [])];
  const rows = newestFirst(context.state.posts)
    .filter(({ authorId }) => author == null || authorId === author.toLowerCase())
    .filter((post) => (named ?? []).every((tag) => post.tags.includes(tag)) && isFound(query, post));
  return connection({ rows }, args, context, { descending: true, faults });
}

function postsOf({ state }: Context, { id }: UserRow, args: Narrowing): Listed<PostRow> {
  return narrowed(
    state.posts.filter(({ authorId }) => authorId === id),
    args,
    true,
  );
}

const commentsBy = ({ state }: Context, { id }: UserRow) =>
  newestFirst(state.comments.filter(({ authorId }) => authorId === id));

const draftsOf = ({ state }: Context, { id }: UserRow) =>
  state.drafts.filter(({ authorId }) => authorId === id).sort((a, b) => byAge(lastChange(b), lastChange(a)));

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
  const draft = named(state.drafts, id);
  const isFound = draft?.authorId === caller?.userId && holds(caller, 'drafts:read');
  return draft !== undefined && isFound ? { ...draft, __typename: 'Draft' } : null;
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
    reject(textFaults('slug', slug, {}));
    const current = state.posts.find((row) => row.slug === slug);
    const former = state.formerSlugs.find((row) => row.slug === slug);
    return current ?? state.posts.find(({ id }) => id === (former?.postId ?? slug));
  },
  posts,
  postsConnection,
  searchPosts,
  tags,
  user(_: never, { id }: { id: string }, context: Context) {
    return named(context.state.users, id);
  },
  userByHandle(_: never, { handle }: { handle: string }, context: Context) {
    reject(textFaults('handle', handle, {}));
    return context.state.users.find((user) => user.handle === handle.toLowerCase());
  },
  users(_: never, args: Args, context: Context) {
    reject(sizeFaults(args));
    return slice({ rows: context.state.users }, args);
  },
  usersConnection(_: never, args: Args, context: Context) {
    return connection({ rows: context.state.users }, args, context, {});
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
    return slice({ rows: commentsBy(context, user) }, args);
  },
  commentsConnection(user: UserRow, args: Args, context: Context) {
    return connection({ rows: commentsBy(context, user) }, args, context, { descending: true });
  },
  posts(user: UserRow, args: Args<Narrowing>, context: Context) {
    reject([...sizeFaults(args), ...narrowingFaults(args)]);
    return slice(postsOf(context, user, args), args);
  },
  postsConnection(user: UserRow, args: Args<Narrowing>, context: Context) {
    return connection(postsOf(context, user, args), args, context, {
      descending: true,
      reordered: isReordered(args),
      faults: narrowingFaults(args),
    });
  },
  drafts(user: UserRow, args: Args, context: Context) {
    needSelf(context, user.id);
    reject(sizeFaults(args));
    return slice({ rows: draftsOf(context, user) }, args);
  },
  draftsConnection(user: UserRow, args: Args, context: Context) {
    needSelf(context, user.id);
    return connection({ rows: draftsOf(context, user) }, args, context, { reordered: true });
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
  externalIdentities(user: UserRow, _: unknown, context: Context) {
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
    return slice({ rows: commentsOn(context, post) }, args);
  },
  commentsConnection(post: PostRow, args: Args, context: Context) {
    return connection({ rows: commentsOn(context, post) }, args, context, {});
  },
};

const Comment = {
  ...VERSIONED,
  author: ({ authorId }: CommentRow, _: unknown, { state }: Context) => userOf(state, authorId),
  post({ postId }: CommentRow, _: unknown, context: Context) {
    return context.state.posts.find(({ id }) => id === postId);
  },
};

const Draft = { ...VERSIONED };

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
  ...Object.entries({
    Query,
    Subscription,
    Change,
    User,
    Post,
    Comment,
    Draft,
    ApiKey,
    CreatedApiKey,
    Session,
  }).map(([type, fields]) => onType(type, fields)),
) as Resolvers;
