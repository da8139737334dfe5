import { API_KEY_COLUMNS, type StoredApiKey } from '../../auth/api-keys.ts';
import {
  formatColumns,
  pickColumns,
  type RowOf,
  type Statement,
  statement,
} from '../../database/statement.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import { type Context, principalOf } from '../../engine/core/context.ts';
import { type ExternalIdentity, externalIdentities, sessions } from '../../generated/tables.ts';
import type { ContentLimits } from '../content-limits.ts';
import type { UserTypes } from '../user/type.ts';

type SessionRow = RowOf<typeof shownSessions>;

const shownSessions = pickColumns(sessions, [
  'id',
  'userId',
  'userAgent',
  'createdAt',
  'lastSeenAt',
  'expiresAt',
]);

export function defineAccountTypes({ builder }: SchemaToolkit) {
  const ApiKey = builder.objectRef<StoredApiKey>('ApiKey').implement({
    description: 'A key with which an application acts for its account. Visible only to its owner.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUIDv7 that never changes. It is not the key.' }),
      name: t.exposeString('name', { description: 'What the key is for, as its owner named it.' }),
      prefix: t.exposeString('prefix', {
        description: 'The first characters of the key, enough to recognise it. The rest is not stored.',
      }),
      scopes: t.exposeStringList('scopes', {
        description: 'The scopes of the key. They never exceed what the account may do.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the key was created.' }),
      lastUsedAt: t.expose('lastUsedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the key was last used, to the minute; null if never.',
      }),
      expiresAt: t.expose('expiresAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the key expires; null if it is valid until revoked.',
      }),
    }),
  });

  const Session = builder.objectRef<SessionRow>('Session').implement({
    description: 'A browser’s login. Visible only to its owner.',
    fields: (t) => ({
      id: t.exposeID('id', {
        description: 'A UUIDv7 that never changes. It is not the value of the cookie.',
      }),
      userAgent: t.exposeString('userAgent', {
        nullable: true,
        description: 'The User-Agent header of the login; null if there was none.',
      }),
      createdAt: t.expose('createdAt', {
        type: 'DateTime',
        description:
          'The time of the login, or of the last password change in this browser, which creates a new session.',
      }),
      lastSeenAt: t.expose('lastSeenAt', {
        type: 'DateTime',
        description: 'When the session was last used, to the minute.',
      }),
      expiresAt: t.expose('expiresAt', {
        type: 'DateTime',
        description:
          'When the session expires if it is not used again: seven days after its last use, and no later than thirty days after `createdAt`.',
      }),
      current: t.boolean({
        description: 'True for the session of this request.',
        resolve: ({ id }, _args, context) => principalOf(context).credentialId === id,
      }),
    }),
  });

  const IdentityType = builder.objectRef<ExternalIdentity>('ExternalIdentity').implement({
    description:
      'A subject of an external issuer whose JWTs act for the account. Visible only to the owner of the account.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUIDv7 that never changes.' }),
      issuer: t.exposeString('issuer', { description: 'The claim `iss` of the JWTs.' }),
      subject: t.exposeString('subject', { description: 'The claim `sub` of the JWTs.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the subject was linked.' }),
      lastUsedAt: t.expose('lastUsedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When a JWT of the subject was last used, to the minute; null if never.',
      }),
    }),
  });

  return { ApiKey, Session, ExternalIdentity: IdentityType };
}

export type AccountTypes = ReturnType<typeof defineAccountTypes>;

const KEYS = statement<StoredApiKey>(
  'account_api_keys',
  `SELECT ${API_KEY_COLUMNS}
   FROM api_keys WHERE user_id = ANY($1::uuid[]) AND revoked_at IS NULL ORDER BY created_at DESC, id DESC LIMIT $2`,
);
const SESSIONS = statement<SessionRow>(
  'account_sessions',
  `SELECT ${formatColumns(shownSessions)}
   FROM sessions WHERE user_id = ANY($1::uuid[]) AND expires_at > now() ORDER BY last_seen_at DESC, id DESC LIMIT $2`,
);

const IDENTITIES = statement<ExternalIdentity>(
  'account_identities',
  `SELECT ${formatColumns(externalIdentities)}
   FROM external_identities WHERE user_id = ANY($1::uuid[]) ORDER BY created_at DESC, id DESC LIMIT $2`,
);

/**
 * Returns the options of a field with a list that only the owner sees. The list is read once, although the viewer may
 * occur many times in a result.
 */
export const ownList = <Row extends { readonly userId: string }>(
  rows: Statement<Row>,
  limit: number,
  what: string,
) => ({
  session: true as const,
  ownOnly: true as const,
  description: `${what}, at most ${limit}. FORBIDDEN except for the viewer in a session.`,
  resolve: (user: { readonly id: string }) => user.id,
  async load(ids: string[], { db }: Context): Promise<Row[][]> {
    const found = await db.query(rows, [ids, limit]);
    return ids.map((id) => found.filter(({ userId }) => userId === id));
  },
});

export function defineAccountRelations(
  { builder }: SchemaToolkit,
  { User }: UserTypes,
  { ApiKey, Session, ExternalIdentity: IdentityType }: AccountTypes,
  { maxListed }: ContentLimits['account'],
): void {
  builder.objectFields(User, (t) => ({
    apiKeys: t.loadableList({
      type: ApiKey,
      ...ownList(KEYS, maxListed, 'The API keys that are not revoked, newest first'),
    }),
    sessions: t.loadableList({
      type: Session,
      ...ownList(SESSIONS, maxListed, 'The active sessions, most recently used first'),
    }),
    externalIdentities: t.loadableList({
      type: IdentityType,
      ...ownList(IDENTITIES, maxListed, 'The linked subjects of external issuers, newest first'),
    }),
  }));
}
