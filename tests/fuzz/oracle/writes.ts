import type { PostRow } from '../snapshot.ts';
import { FORBIDDEN, mayChange, NOT_FOUND, needScope, needSession } from './permissions.ts';
import type { Context, Resolvers } from './schema.ts';
import { MADE_TEXT, named } from './state.ts';
import { badInput, type Fault, refuse, textFaults } from './wrong.ts';

interface PostArguments {
  readonly id: string;
  readonly title?: string | null;
  readonly body?: string | null;
  readonly tags?: readonly string[] | null;
}

const SCOPES = ['posts:read', 'posts:write', 'comments:write', 'users:read', 'users:email'];
const MAX_KEYS = 100;

const postFaults = ({ title, body, tags }: PostArguments): Fault[] => [
  ...textFaults('title', title, { min: 1, max: 200, visible: true }),
  ...textFaults('body', body, { min: 1, max: 50_000 }),
  ...(tags ?? []).flatMap((tag) => textFaults('tags', tag, { min: 1, max: 50 })),
  ...((tags ?? []).length > 10 || new Set(tags ?? []).size < (tags ?? []).length ? [badInput('tags')] : []),
];

function createPost(_: never, args: PostArguments, { state, ...context }: Context): PostRow {
  needScope(context, 'posts:write');
  refuse(postFaults(args));
  const { title, body, tags } = args;
  const authorId = context.caller?.userId ?? '';
  const post = { ...state.make(), title: title ?? '', body: body ?? '', tags: tags ?? [], authorId };
  state.posts = [...state.posts, post];
  return post;
}

function updatePost(_: never, args: PostArguments, context: Context): PostRow | undefined {
  needScope(context, 'posts:write');
  const { state } = context;
  const post = named(state.posts, args.id);
  const refused = post !== undefined && !mayChange(context, post.authorId) ? [FORBIDDEN] : [];
  refuse([...postFaults(args), ...(post === undefined ? [NOT_FOUND] : refused)]);
  if (post === undefined) return undefined;
  const { title, body, tags } = args;
  const changed = { ...post, title: title ?? post.title, body: body ?? post.body, tags: tags ?? post.tags };
  state.posts = state.posts.map((row) => (row === post ? changed : row));
  return changed;
}

function deletePost(_: never, { id }: { id: string }, context: Context): boolean {
  needScope(context, 'posts:write');
  const { state } = context;
  const post = named(state.posts, id);
  if (post === undefined) return false;
  refuse(mayChange(context, post.authorId) ? [] : [FORBIDDEN]);
  state.posts = state.posts.filter((row) => row !== post);
  state.comments = state.comments.filter(({ postId }) => postId !== post.id);
  return true;
}

function createComment(_: never, { postId, body }: { postId: string; body: string }, context: Context) {
  needScope(context, 'comments:write');
  const { state } = context;
  const post = named(state.posts, postId);
  refuse([...textFaults('body', body, { min: 1, max: 5_000 }), ...(post === undefined ? [NOT_FOUND] : [])]);
  const authorId = context.caller?.userId ?? '';
  const comment = { ...state.make(), body, postId: post?.id ?? '', authorId };
  state.comments = [...state.comments, comment];
  return comment;
}

function deleteComment(_: never, { id }: { id: string }, context: Context): boolean {
  needScope(context, 'comments:write');
  const { state } = context;
  const comment = named(state.comments, id);
  if (comment === undefined) return false;
  const post = state.posts.find((row) => row.id === comment.postId);
  refuse(mayChange(context, comment.authorId, post?.authorId ?? '') ? [] : [FORBIDDEN]);
  state.comments = state.comments.filter((row) => row !== comment);
  return true;
}

interface KeyArguments {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: number | null;
}

function createApiKey(_: never, { name, scopes, expiresAt = null }: KeyArguments, context: Context) {
  const userId = needSession(context);
  const { state } = context;
  const strange = scopes.some((scope) => !SCOPES.includes(scope));
  const repeated = new Set(scopes).size < scopes.length;
  const beyond = scopes.includes('users:email') && context.caller?.role !== 'admin';
  const live = state.keys.filter(
    (row) => row.userId === userId && (row.expiresAt === null || row.expiresAt > Date.now()),
  );
  refuse([
    ...textFaults('name', name, { min: 1, max: 100, visible: true }),
    ...(scopes.length === 0 || strange || repeated ? [badInput('scopes')] : []),
    ...(expiresAt !== null && expiresAt <= Date.now() ? [badInput('expiresAt')] : []),
    ...(beyond ? [FORBIDDEN] : []),
    // The contract names no argument for one key too many.
    ...(live.length >= MAX_KEYS ? [{ code: 'BAD_USER_INPUT' }] : []),
  ]);
  const apiKey = { ...state.make(), userId, name, scopes, prefix: MADE_TEXT, expiresAt };
  state.keys.push(apiKey);
  return { key: MADE_TEXT, apiKey };
}

/** Takes a row of the caller's out. Whether it was there. */
function revoke(
  rows: { id: string; createdAt: number; userId: string }[],
  id: string,
  userId: string,
): boolean {
  const row = named(rows, id);
  if (row === undefined || row.userId !== userId) return false;
  rows.splice(rows.indexOf(row), 1);
  return true;
}

interface PasswordArguments {
  readonly currentPassword: string;
  readonly newPassword: string;
}

function changePassword(_: never, args: PasswordArguments, context: Context): boolean {
  needSession(context);
  const { state } = context;
  refuse([
    ...textFaults('newPassword', args.newPassword, { min: 12, max: 200 }),
    ...(args.currentPassword === context.password ? [] : [badInput('currentPassword')]),
  ]);
  state.sessions.splice(0, Infinity, ...state.sessions.filter(({ id }) => id === context.caller?.sessionId));
  return true;
}

/** What the contract says that mutations answer and do. */
export const WRITES: Resolvers = {
  'Mutation.createPost': createPost,
  'Mutation.updatePost': updatePost,
  'Mutation.deletePost': deletePost,
  'Mutation.createComment': createComment,
  'Mutation.deleteComment': deleteComment,
  'Mutation.createApiKey': createApiKey,
  'Mutation.revokeApiKey': (_, { id }: { id: string }, context) =>
    revoke(context.state.keys, id, needSession(context)),
  'Mutation.revokeSession': (_, { id }: { id: string }, context) =>
    revoke(context.state.sessions, id, needSession(context)),
  'Mutation.revokeGrant': (_, __, context) => needSession(context) === '',
  'Mutation.changePassword': changePassword,
};
