import {
  CONFLICT,
  FORBIDDEN,
  mayChange,
  NOT_FOUND,
  SCOPES,
  scopesOf,
  UNAUTHENTICATED,
} from './permissions.ts';
import type { Context, Resolvers } from './schema.ts';
import { changed, MADE_TEXT, makeRow, makeText, makeVersioned, named, type State } from './state.ts';
import type { CommentRow, DraftRow, KeyRow, PostRow, SessionRow, UserRow } from './tables.ts';
import { badInput, type Fault, reject, textFaults, Wrong } from './wrong.ts';

interface PostArguments extends OfVersion {
  readonly id: string;
  readonly title?: string | null;
  readonly body?: string | null;
  readonly tags?: readonly string[] | null;
  readonly slug?: string | null;
}

interface OfVersion {
  readonly ifVersion?: number | null;
}

const MAX_KEYS = 100;

/** Each change of a post or comment is an event. */
function tell(state: State, kind: string, { id: postId, authorId }: PostRow, comment?: CommentRow): void {
  state.changes = [...state.changes, { kind, postId, commentId: comment?.id ?? null, authorId }];
}

/** Rejects what is of another version than the caller has read. */
function checkVersion({ ifVersion }: OfVersion, { version }: { readonly version: number }): void {
  reject(ifVersion == null || ifVersion === version ? [] : [CONFLICT]);
}

const idOf = ({ caller }: Context): string => caller?.userId ?? '';

/** What a client may choose. The service derives all other slugs from titles. */
const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const SLUG = /^(?=.{1,80}$)[a-z0-9]+(-+[a-z0-9]+)*$/s;

function checkFree({ slug }: PostArguments, { posts }: State, own?: PostRow): void {
  const isTaken = slug != null && posts.some((post) => post !== own && post.slug === slug);
  reject(isTaken ? [badInput('slug')] : []);
}

const postFaults = ({ title, body, tags, slug }: Omit<PostArguments, 'id'>): Fault[] => [
  ...(slug == null || (SLUG.test(slug) && !ID.test(slug)) ? [] : [badInput('slug')]),
  ...textFaults('title', title, { min: 1, max: 200, visible: true }),
  ...textFaults('body', body, { min: 1, max: 50_000 }),
  ...(tags ?? []).flatMap((tag) => textFaults('tags', tag, { min: 1, max: 50 })),
  ...((tags ?? []).length > 10 || new Set(tags ?? []).size < (tags ?? []).length ? [badInput('tags')] : []),
];

function createPost(_: never, args: PostArguments, context: Context): PostRow {
  const { title, body, tags } = args;
  const { state } = context;
  reject(postFaults(args));
  checkFree(args, state);
  const authorId = idOf(context);
  const slug = args.slug ?? makeText(state, 'slug');
  const place = makeVersioned(state);
  const post = { ...place, title: title ?? '', body: body ?? '', slug, tags: tags ?? [], authorId };
  state.posts = [...state.posts, post];
  state.announced = [...state.announced, post.id];
  tell(state, 'POST_CREATED', post);
  return post;
}

function updatePost(_: never, args: PostArguments, context: Context): PostRow | undefined {
  const { state } = context;
  const post = named(state.posts, args.id);
  const rejected = post !== undefined && !mayChange(context, post.authorId) ? [FORBIDDEN] : [];
  reject([...postFaults(args), ...(post === undefined ? [NOT_FOUND] : rejected)]);
  if (post === undefined) return undefined;
  checkVersion(args, post);
  checkFree(args, state, post);
  const { title, body, tags, slug } = args;
  const changes = {
    title: title ?? post.title,
    body: body ?? post.body,
    tags: tags ?? post.tags,
    slug: slug ?? post.slug,
  };
  const next = changed(state, post, changes);
  if (next.slug !== post.slug && post.slug !== post.id)
    state.formerSlugs = [
      ...state.formerSlugs.filter(({ slug: former }) => former !== post.slug),
      { slug: post.slug, postId: post.id },
    ];
  if (next !== post) tell(state, 'POST_UPDATED', post);
  state.posts = state.posts.map((row) => (row === post ? next : row));
  return next;
}

function deletePost(_: never, args: OfVersion & { id: string }, context: Context): boolean {
  const { state } = context;
  const post = named(state.posts, args.id);
  if (post === undefined) return false;
  reject(mayChange(context, post.authorId) ? [] : [FORBIDDEN]);
  checkVersion(args, post);
  state.posts = state.posts.filter((row) => row !== post);
  tell(state, 'POST_DELETED', post);
  state.formerSlugs = state.formerSlugs.filter(({ postId }) => postId !== post.id);
  state.comments = state.comments.filter(({ postId }) => postId !== post.id);
  return true;
}

type DraftFields = Omit<PostArguments, 'id' | 'ifVersion'>;
type DraftArguments = OfVersion & { readonly id: string };

const MAX_DRAFTS = 200;

const draftFaults = ({ title, body, slug, ...rest }: DraftFields): Fault[] => [
  ...postFaults({ ...rest, slug: slug || null }),
  ...textFaults('title', title, { max: 200 }),
  ...textFaults('body', body, { max: 50_000 }),
];

const ownDraft = ({ state, caller }: Context, id: string): DraftRow | undefined => {
  const draft = named(state.drafts, id);
  return draft?.authorId === caller?.userId ? draft : undefined;
};

function createDraft(_: never, args: DraftFields, context: Context): DraftRow {
  const { state } = context;
  const authorId = idOf(context);
  const isFull = state.drafts.filter((draft) => draft.authorId === authorId).length >= MAX_DRAFTS;
  // The contract names no argument for one draft too many.
  reject([...draftFaults(args), ...(isFull ? [{ code: 'BAD_USER_INPUT' }] : [])]);
  const { title, body, tags, slug } = args;
  const fields = { title: title ?? '', body: body ?? '', tags: tags ?? [], slug: slug || null };
  const draft = { ...makeVersioned(state), ...fields, authorId };
  state.drafts = [...state.drafts, draft];
  return draft;
}

function updateDraft(_: never, args: DraftFields & DraftArguments, context: Context): DraftRow | undefined {
  const { state } = context;
  const draft = ownDraft(context, args.id);
  reject([...draftFaults(args), ...(draft === undefined ? [NOT_FOUND] : [])]);
  if (draft === undefined) return undefined;
  checkVersion(args, draft);
  const { title, body, tags, slug } = args;
  const next = changed(state, draft, {
    title: title ?? draft.title,
    body: body ?? draft.body,
    tags: tags ?? draft.tags,
    slug: (slug ?? draft.slug) || null,
  });
  state.drafts = state.drafts.map((row) => (row === draft ? next : row));
  return next;
}

function deleteDraft(_: never, args: DraftArguments, context: Context): boolean {
  const { state } = context;
  const draft = ownDraft(context, args.id);
  if (draft === undefined) return false;
  checkVersion(args, draft);
  state.drafts = state.drafts.filter((row) => row !== draft);
  return true;
}

function publishDraft(_: never, args: DraftArguments, context: Context): PostRow | undefined {
  const { state } = context;
  const draft = ownDraft(context, args.id);
  if (draft === undefined) throw new Wrong([NOT_FOUND]);
  checkVersion(args, draft);
  const post = createPost(_, draft, context);
  state.drafts = state.drafts.filter((row) => row !== draft);
  return post;
}

function createComment(_: never, { postId, body }: { postId: string; body: string }, context: Context) {
  const { state } = context;
  const post = named(state.posts, postId);
  reject([...textFaults('body', body, { min: 1, max: 5_000 }), ...(post === undefined ? [NOT_FOUND] : [])]);
  const authorId = idOf(context);
  const comment = { ...makeVersioned(state), body, postId: post?.id ?? '', authorId };
  state.comments = [...state.comments, comment];
  if (post !== undefined) tell(state, 'COMMENT_CREATED', post, comment);
  return comment;
}

type CommentArguments = OfVersion & { readonly id: string; readonly body: string };

function updateComment(_: never, args: CommentArguments, context: Context): CommentRow | undefined {
  const { state } = context;
  const comment = named(state.comments, args.id);
  const rejected = comment !== undefined && !mayChange(context, comment.authorId) ? [FORBIDDEN] : [];
  reject([
    ...textFaults('body', args.body, { min: 1, max: 5_000 }),
    ...(comment === undefined ? [NOT_FOUND] : rejected),
  ]);
  if (comment === undefined) return undefined;
  checkVersion(args, comment);
  const next = changed(state, comment, { body: args.body });
  const post = state.posts.find((row) => row.id === comment.postId);
  if (next !== comment && post !== undefined) tell(state, 'COMMENT_UPDATED', post, comment);
  state.comments = state.comments.map((row) => (row === comment ? next : row));
  return next;
}

interface ProfileArguments {
  readonly name?: string | null;
  readonly handle?: string | null;
  readonly bio?: string | null;
  readonly avatarUrl?: string | null;
}

function handleFaults(handle: string, context: Context): Fault[] {
  const fits = /^[a-z0-9_]{3,30}$/.test(handle) && !/^[0-9]+$/.test(handle);
  const { users } = context.state;
  const isTaken = users.some((user) => user.handle === handle && user.id !== idOf(context));
  return fits && !isTaken ? [] : [badInput('handle')];
}

function avatarFaults(url: string): Fault[] {
  const isAscii = /^[!-~]+$/.test(url);
  const fits = isAscii && url.length <= 500 && URL.parse(url)?.protocol === 'https:';
  return fits && /^https:[/][/]/i.test(url) ? [] : [badInput('avatarUrl')];
}

function updateViewer(_: never, args: ProfileArguments, context: Context): UserRow | undefined {
  const { state, caller } = context;
  const { name, handle, bio, avatarUrl } = args;
  reject([
    ...textFaults('name', name, { min: 1, max: 100 }),
    ...textFaults('bio', bio, { max: 500 }),
    ...(handle ? handleFaults(handle, context) : []),
    ...(avatarUrl ? avatarFaults(avatarUrl) : []),
  ]);
  // An earlier field of the operation may have ended the session that it came with.
  if (state.sessions.every(({ id }) => id !== caller?.sessionId)) reject([UNAUTHENTICATED]);
  const changedOf = (user: UserRow): UserRow => ({
    ...user,
    name: name ?? user.name,
    handle: (handle ?? user.handle) || null,
    bio: bio ?? user.bio,
    avatarUrl: (avatarUrl ?? user.avatarUrl) || null,
  });
  state.users = state.users.map((user) => (user.id === caller?.userId ? changedOf(user) : user));
  return state.users.find(({ id }) => id === caller?.userId);
}

function deleteComment(_: never, args: OfVersion & { id: string }, context: Context): boolean {
  const { state } = context;
  const comment = named(state.comments, args.id);
  if (comment === undefined) return false;
  const post = state.posts.find((row) => row.id === comment.postId);
  reject(mayChange(context, comment.authorId, post?.authorId ?? '') ? [] : [FORBIDDEN]);
  checkVersion(args, comment);
  state.comments = state.comments.filter((row) => row !== comment);
  if (post !== undefined) tell(state, 'COMMENT_DELETED', post, comment);
  return true;
}

interface KeyArguments {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: number | null;
  readonly currentPassword?: string | null;
}

function createApiKey(_: never, args: KeyArguments, context: Context) {
  const { name, scopes, expiresAt = null, currentPassword } = args;
  const { state, caller } = context;
  const userId = idOf(context);
  const strange = scopes.some((scope) => !SCOPES.some((one) => one === scope));
  const repeated = new Set(scopes).size < scopes.length;
  const held = scopesOf(caller?.role ?? 'member');
  const beyond = !strange && !scopes.every((scope) => held.some((one) => one === scope));
  const live = state.keys.filter(
    (row) => row.userId === userId && (row.expiresAt === null || row.expiresAt > Date.now()),
  );
  reject([
    ...textFaults('name', name, { min: 1, max: 100, visible: true }),
    ...(scopes.length === 0 || strange || repeated ? [badInput('scopes')] : []),
    ...(expiresAt !== null && expiresAt <= Date.now() ? [badInput('expiresAt')] : []),
    ...(beyond ? [FORBIDDEN] : []),
    ...(currentPassword === context.password ? [] : [badInput('currentPassword')]),
    // The contract names no argument for one key too many.
    ...(live.length >= MAX_KEYS ? [{ code: 'BAD_USER_INPUT' }] : []),
  ]);
  // An earlier field of the operation may have ended the session that it came with.
  if (state.sessions.every(({ id }) => id !== caller?.sessionId)) reject([UNAUTHENTICATED]);
  const secret = makeText(state, 'secret');
  const apiKey = { ...makeRow(state), userId, name, scopes, prefix: MADE_TEXT, expiresAt, secret };
  state.keys = [...state.keys, apiKey];
  return { key: secret, apiKey };
}

/** Takes a row of the caller's out. Whether it was there. */
function revoke(list: 'keys' | 'sessions', { id }: { readonly id: string }, context: Context): boolean {
  const { state } = context;
  const row = named<KeyRow | SessionRow>(state[list], id);
  if (row === undefined || row.userId !== idOf(context)) return false;
  if (list === 'keys') state.keys = state.keys.filter((one) => one !== row);
  else state.sessions = state.sessions.filter((one) => one !== row);
  return true;
}

interface PasswordArguments {
  readonly currentPassword: string;
  readonly newPassword: string;
}

function changePassword(_: never, args: PasswordArguments, context: Context): boolean {
  const { state, caller } = context;
  reject([
    ...textFaults('newPassword', args.newPassword, { min: 12, max: 200 }),
    ...(args.currentPassword === context.password ? [] : [badInput('currentPassword')]),
  ]);
  const own = state.sessions.find(({ id }) => id === caller?.sessionId);
  // An earlier field of the operation may have ended the session that it came with.
  if (caller === undefined || own === undefined) throw new Wrong([UNAUTHENTICATED]);
  const row = makeRow(state);
  const { userId, userAgent } = own;
  const others = state.sessions.filter((session) => session.userId !== userId);
  state.sessions = [...others, { ...row, userId, userAgent, lastSeenAt: row.createdAt }];
  // The rest of the operation goes on in the new session.
  context.caller = { ...caller, sessionId: row.id };
  return true;
}

/** What the contract says that mutations answer and do. */
export const WRITES: Resolvers = {
  'Mutation.createPost': createPost,
  'Mutation.updatePost': updatePost,
  'Mutation.deletePost': deletePost,
  'Mutation.createComment': createComment,
  'Mutation.updateComment': updateComment,
  'Mutation.deleteComment': deleteComment,
  'Mutation.createDraft': createDraft,
  'Mutation.updateDraft': updateDraft,
  'Mutation.deleteDraft': deleteDraft,
  'Mutation.publishDraft': publishDraft,
  'Mutation.updateViewer': updateViewer,
  'Mutation.createApiKey': createApiKey,
  'Mutation.revokeApiKey': (_, args, context) => revoke('keys', args, context),
  'Mutation.revokeSession': (_, args, context) => revoke('sessions', args, context),
  'Mutation.revokeGrant': () => false,
  'Mutation.unlinkIdentity': () => false,
  'Mutation.changePassword': changePassword,
};
