import { type Asked, Measure } from './measure.ts';
import type { Context } from './schema.ts';
import { type Fault, Wrong } from './wrong.ts';

export const FORBIDDEN: Fault = { code: 'FORBIDDEN' };
export const NOT_FOUND: Fault = { code: 'NOT_FOUND' };

type Who = Pick<Context, 'caller'>;

/** Contract section 3, the table of permissions. */
export function needScope({ caller }: Who, scope: string): void {
  if (caller?.scopes.has(scope) !== true) throw new Wrong([FORBIDDEN]);
}

/** What is one's own business, and in a session only. */
export function needSession({ caller }: Who, owner = caller?.userId): string {
  if (caller?.sessionId === undefined || owner !== caller.userId) throw new Wrong([FORBIDDEN]);
  return caller.userId;
}

/** What fields need whatever their rows (contract section 3); the fields of queries are no part of a mutation. */
const NEEDS: Readonly<Record<string, string>> = {
  'Mutation.createPost': 'posts:write',
  'Mutation.updatePost': 'posts:write',
  'Mutation.deletePost': 'posts:write',
  'Mutation.createComment': 'comments:write',
  'Mutation.deleteComment': 'comments:write',
  'Mutation.createApiKey': 'session',
  'Mutation.revokeApiKey': 'session',
  'Mutation.revokeSession': 'session',
  'Mutation.revokeGrant': 'session',
  'Mutation.changePassword': 'session',
  'User.posts': 'posts:read',
  'User.postsConnection': 'posts:read',
  'User.apiKeys': 'session',
  'User.sessions': 'session',
  'User.oauthGrants': 'session',
  'Post.comments': 'posts:read',
  'Post.commentsConnection': 'posts:read',
  'Comment.post': 'posts:read',
};

/** Contract section 6: whether the caller lacks what any field of an operation needs, so that a key does not serve. */
export function lacksAccess({ caller }: Who, asked: Asked): boolean {
  const walk = new Measure(asked);
  const around = {
    type: asked.schema.getMutationType() ?? undefined,
    depth: 1,
    left: false,
    told: false,
  };
  return [...walk.all(asked.operation.selectionSet, around)].some(({ field, type, left }) => {
    const need = left ? undefined : NEEDS[`${type?.name}.${field.name.value}`];
    if (need === undefined) return false;
    return need === 'session' ? caller?.sessionId === undefined : caller?.scopes.has(need) !== true;
  });
}

/** Whether the caller is one of the accounts, or an admin. */
export const mayChange = ({ caller }: Who, ...owners: readonly string[]): boolean =>
  caller !== undefined && (owners.includes(caller.userId) || caller.role === 'admin');

/** One's own e-mail, or any with the scope, which only admins can hold. */
export function needEmail(who: Who, owner: string): void {
  if (who.caller?.userId === owner) return;
  if (who.caller?.role !== 'admin') throw new Wrong([FORBIDDEN]);
  needScope(who, 'users:email');
}
