import type { Role, Scope } from '../../src/auth/scopes.ts';
import { type Asked, atRoot, Walk } from './walk.ts';
import { type Fault, Wrong } from './wrong.ts';

/** Who a caller is, as far as the contract cares. */
export interface Caller {
  readonly userId: string;
  readonly role: Role;
  readonly scopes: ReadonlySet<string>;
  /** The id of the session that asks; undefined for a key. */
  readonly sessionId: string | undefined;
}

interface Who {
  readonly caller: Caller | undefined;
}

export const FORBIDDEN: Fault = { code: 'FORBIDDEN' };
export const NOT_FOUND: Fault = { code: 'NOT_FOUND' };
export const CONFLICT: Fault = { code: 'CONFLICT' };
export const UNAUTHENTICATED: Fault = { code: 'UNAUTHENTICATED' };

export const SCOPES: readonly Scope[] = [
  'posts:read',
  'posts:write',
  'comments:write',
  'drafts:read',
  'drafts:write',
  'users:read',
  'users:email',
];

/** Contract section 3: `users:email` is for admins only. */
export const scopesOf = (role: Role): readonly Scope[] =>
  SCOPES.filter((scope) => scope !== 'users:email' || role === 'admin');

/** Contract section 3, the table of permissions: what fields need whatever their rows. */
const NEEDS: Readonly<Record<string, Scope | 'session' | readonly Scope[]>> = {
  'Query.post': 'posts:read',
  'Query.postBySlug': 'posts:read',
  'Query.posts': 'posts:read',
  'Query.postsConnection': 'posts:read',
  'Query.searchPosts': 'posts:read',
  'Query.tags': 'posts:read',
  'Query.user': 'users:read',
  'Query.userByHandle': 'users:read',
  'Query.users': 'users:read',
  'Query.usersConnection': 'users:read',
  'Query.viewer': 'users:read',
  'Subscription.postCreated': 'posts:read',
  'Subscription.changes': 'posts:read',
  'Mutation.createPost': 'posts:write',
  'Mutation.updatePost': 'posts:write',
  'Mutation.deletePost': 'posts:write',
  'Mutation.createComment': 'comments:write',
  'Mutation.updateComment': 'comments:write',
  'Mutation.deleteComment': 'comments:write',
  'Mutation.createDraft': 'drafts:write',
  'Mutation.updateDraft': 'drafts:write',
  'Mutation.deleteDraft': 'drafts:write',
  'Mutation.publishDraft': ['drafts:write', 'posts:write'],
  'Mutation.updateViewer': 'session',
  'Mutation.createApiKey': 'session',
  'Mutation.revokeApiKey': 'session',
  'Mutation.revokeSession': 'session',
  'Mutation.revokeGrant': 'session',
  'Mutation.unlinkIdentity': 'session',
  'Mutation.changePassword': 'session',
  'User.posts': 'posts:read',
  'User.postsConnection': 'posts:read',
  'User.comments': 'posts:read',
  'User.commentsConnection': 'posts:read',
  'User.drafts': 'drafts:read',
  'User.draftsConnection': 'drafts:read',
  'User.role': 'users:read',
  'User.apiKeys': 'session',
  'User.sessions': 'session',
  'User.oauthGrants': 'session',
  'User.externalIdentities': 'session',
  'Post.comments': 'posts:read',
  'Post.commentsConnection': 'posts:read',
  'Comment.post': 'posts:read',
};

const needsOf = (coordinate: string): readonly string[] => [NEEDS[coordinate] ?? []].flat();

export const holds = (caller: Caller | undefined, need: string): boolean =>
  need === 'session' ? caller?.sessionId !== undefined : caller?.scopes.has(need) === true;

/** Throws unless the caller has what the field of that coordinate needs. */
export function checkNeed({ caller }: Who, coordinate: string): void {
  if (!needsOf(coordinate).every((need) => holds(caller, need))) throw new Wrong([FORBIDDEN]);
}

/** Contract section 6: what the fields of an operation need, whether or not execution comes to them. */
export function neededFor(asked: Asked): ReadonlySet<string> {
  const standings = [...new Walk(asked).all(asked.operation.selectionSet, atRoot(asked))];
  return new Set(
    standings.flatMap(({ field, type, left }) => (left ? [] : needsOf(`${type?.name}.${field.name.value}`))),
  );
}

/** Contract section 6: whether the caller lacks what any field of an operation needs, so that a key does not serve. */
export const lacksAccess = ({ caller }: Who, asked: Asked): boolean =>
  [...neededFor(asked)].some((need) => !holds(caller, need));

/** What is one's own business. */
export function needSelf({ caller }: Who, owner: string): void {
  if (owner !== caller?.userId) throw new Wrong([FORBIDDEN]);
}

/** Whether the caller is one of the accounts, or an admin. */
export const mayChange = ({ caller }: Who, ...owners: readonly string[]): boolean =>
  caller !== undefined && (owners.includes(caller.userId) || caller.role === 'admin');

/** The scope that shows the e-mail of an account: `users:email` is for admins only. Throws unless the caller has it. */
export function needEmail({ caller }: Who, owner: string): Scope {
  const need = caller?.userId === owner ? 'users:read' : 'users:email';
  if (caller === undefined || !scopesOf(caller.role).includes(need) || !caller.scopes.has(need))
    throw new Wrong([FORBIDDEN]);
  return need;
}
