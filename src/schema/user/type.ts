import { ACCOUNT_NAME, MAX_EMAIL_LENGTH } from '../../auth/accounts.ts';
import { isAuthenticated } from '../../auth/principal.ts';
import { pickColumns, statement } from '../../database/statement.ts';
import { defineConnection } from '../../engine/builder/connection-type.ts';
import {
  connectionArguments,
  limitArgument,
  offsetArgument,
  rootConnection,
  rootList,
} from '../../engine/builder/connections.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import { type Context, principalOf } from '../../engine/core/context.ts';
import { lengthOf, parseId } from '../../engine/core/input.ts';
import { createEntity, type EntityRow, type ListRelation, selectList } from '../../engine/queries/entity.ts';
import { inLoaderBatch, readById } from '../../engine/queries/loaders.ts';
import { connectionPage, parseListPage } from '../../engine/queries/pagination.ts';
import { users } from '../../generated/tables.ts';
import { ApiError, notFound } from '../../platform/errors.ts';
import type { ContentLimits } from '../content-limits.ts';
import { describeHandle, parseHandle } from './profile.ts';

export const userEntity = createEntity(
  pickColumns(users, ['id', 'name', 'handle', 'bio', 'avatarUrl', 'role', 'createdAt']),
  { texts: ['bio'] },
);

/** The email address is not a column of the entity, because only some callers may see it. */
type UserRow = EntityRow<typeof userEntity>;

const OWN_EMAIL = 'users:read';
const EMAIL_OF_OTHERS = 'users:email';

/**
 * The contract guarantees this rule (contract: permissions).
 * @throws {ApiError} FORBIDDEN
 */
function withEmail({ id }: UserRow, context: Context): string {
  const scope = principalOf(context).userId === id ? OWN_EMAIL : EMAIL_OF_OTHERS;
  context.notedScopes?.add(scope);
  if (context.caller.scopes.has(scope)) return id;
  // The message is equal for every account, so that it does not reveal the caller's account.
  throw new ApiError(
    'FORBIDDEN',
    `Your email address requires the scope "${OWN_EMAIL}". Email addresses of other accounts require the scope "${EMAIL_OF_OTHERS}".`,
    { retriable: true },
  );
}

const EMAILS = statement<{ id: string; email: string }>(
  'emails_of_users',
  'SELECT id, email FROM users WHERE id = ANY($1::uuid[])',
);

async function readEmails({ db }: Context, ids: readonly string[]): Promise<(string | Error)[]> {
  const rows = await db.query(EMAILS, [ids]);
  const found = new Map(rows.map(({ id, email }) => [id, email]));
  return ids.map((id) => found.get(id) ?? notFound('User', id));
}

/** The SQL of the field `role` must return these names, too. */
const ROLE_NAMES = { member: 'MEMBER', admin: 'ADMIN' } as const;

/** The contract guarantees this rule (contract: permissions). */
function maySeeRole({ caller }: Context, { id }: UserRow): boolean {
  return isAuthenticated(caller) && (caller.userId === id || caller.role === 'admin');
}

export function defineUser(toolkit: SchemaToolkit, { handle, bio, avatarUrl }: ContentLimits['profile']) {
  const { builder } = toolkit;
  const Role = builder.enumType('Role', {
    description: 'The role of an account.',
    values: {
      MEMBER: { description: 'Writes, changes and deletes posts and comments of the account.' },
      ADMIN: { description: 'Also changes and deletes posts and comments of other accounts.' },
    } as const,
  });
  const User = builder.node('User', {
    description: 'A person or a service that writes posts and comments.',
    entity: userEntity,
    scope: 'users:read',
    fields: (t) => ({
      name: t.exposeString('name', {
        maxCharacters: ACCOUNT_NAME.max,
        description: `The name shown next to the user’s posts and comments, ${lengthOf(ACCOUNT_NAME)}.`,
      }),
      handle: t.exposeString('handle', {
        nullable: true,
        maxCharacters: handle.max,
        description: `The unique short name for URLs, ${describeHandle(handle)}; null until the user sets one.`,
      }),
      bio: t.exposeString('bio', {
        maxCharacters: bio.max,
        description: `What the user writes about themselves, ${lengthOf(bio)}, exactly as written.`,
      }),
      avatarUrl: t.exposeString('avatarUrl', {
        nullable: true,
        maxCharacters: avatarUrl.max,
        description: `The https URL of the user’s picture, at most ${avatarUrl.max} characters; null until the user sets one. The service never requests the URL.`,
      }),
      email: t.loadable({
        type: 'String',
        maxCharacters: MAX_EMAIL_LENGTH,
        scopeForOwn: OWN_EMAIL,
        scopeForOthers: EMAIL_OF_OTHERS,
        sql: { kind: 'value', expression: ({ id }) => `(SELECT e.email FROM users e WHERE e.id = ${id})` },
        description: `The email address, unique ignoring case; empty for a deleted account. The viewer’s needs the scope \`${OWN_EMAIL}\`, others need \`${EMAIL_OF_OTHERS}\`; otherwise FORBIDDEN.`,
        resolve: (user, _args, context) => withEmail(user, context),
        load: (ids: string[], context) =>
          inLoaderBatch(context, EMAILS, ids, (all) => readEmails(context, all)),
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the account was created.' }),
      role: t.field({
        type: Role,
        nullable: true,
        scope: 'users:read',
        columns: ['role'],
        sql: {
          kind: 'value',
          ofCaller: true,
          expression: ({ id, role }, _args, caller) =>
            `CASE WHEN ${id} = ${caller.id} OR ${caller.isAdmin} THEN upper(${role}::text COLLATE "C") END`,
        },
        description:
          'The role, visible to the account itself and to admins; null for others. BAD_USER_INPUT in subscriptions.',
        resolve: (user, _args, context) => (maySeeRole(context, user) ? ROLE_NAMES[user.role] : null),
      }),
    }),
  });
  return { User, UserConnection: defineConnection(toolkit, 'User', User) };
}

export type UserTypes = ReturnType<typeof defineUser>;

const findByHandle = (handle: string) => `(SELECT h.id FROM users h WHERE h.handle = ${handle})`;

const BY_HANDLE = statement<UserRow>(
  'user_by_handle',
  `SELECT ${selectList(userEntity)} FROM users t WHERE t.id = ${findByHandle('$1')}`,
);

const allUsers: ListRelation<UserRow> = { name: 'users', entity: userEntity, order: 'oldest-first' };

export function defineUserQueries(
  { builder }: SchemaToolkit,
  { User, UserConnection }: UserTypes,
  limits: ContentLimits['profile'],
): void {
  builder.queryFields((t) => ({
    user: t.field({
      type: User,
      nullable: true,
      scope: 'users:read',
      sql: { kind: 'row', entity: userEntity, id: (args) => parseId(String(args.id)) },
      description: 'The user with this id, or null if there is none.',
      args: {
        id: t.arg.id({
          required: true,
          description: 'The user’s id. A string that is not a UUID matches nothing.',
        }),
      },
      resolve: async (_root, args, { db }) => {
        const id = parseId(args.id);
        return id === undefined ? null : ((await readById(db, userEntity, id)) ?? null);
      },
    }),
    userByHandle: t.field({
      type: User,
      nullable: true,
      scope: 'users:read',
      sql: {
        kind: 'row',
        entity: userEntity,
        id: (args) => parseHandle(String(args.handle), limits.handle),
        find: findByHandle,
      },
      description: 'The user with this handle, or null if there is none.',
      args: {
        handle: t.arg.string({
          required: true,
          description:
            'The user’s handle, in upper or lower case. A string that is no handle matches nothing.',
        }),
      },
      resolve: async (_root, args, { db }) => {
        const handle = parseHandle(args.handle, limits.handle);
        return handle === undefined ? null : ((await db.query(BY_HANDLE, [handle]))[0] ?? null);
      },
    }),
    users: rootList(t, {
      type: User,
      list: allUsers,
      scope: 'users:read',
      description: 'All users, oldest account first.',
      args: { limit: limitArgument(t.arg), offset: offsetArgument(t.arg) },
      page: parseListPage,
    }),
    usersConnection: rootConnection(t, {
      type: UserConnection,
      list: allUsers,
      scope: 'users:read',
      description: 'All users as a connection, oldest account first.',
      args: connectionArguments(t.arg),
      page: connectionPage,
    }),
    viewer: t.field({
      type: User,
      scope: 'users:read',
      sql: {
        kind: 'row',
        entity: userEntity,
        id: (_args, context) => principalOf(context).userId,
        own: true,
      },
      description: 'The account of the credentials of this request.',
      resolve: (_root, _args, context) => principalOf(context).userId,
    }),
  }));
}
