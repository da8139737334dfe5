import { builder } from '../../graphql/builder.ts';
import { principalOf } from '../../graphql/context.ts';

/** A key as its owner sees it. */
export interface ApiKeyRow {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly prefix: string;
  readonly scopes: string[];
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
}

/** A session as its owner sees it. */
export interface SessionRow {
  readonly id: string;
  readonly userId: string;
  readonly userAgent: string | null;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
  readonly expiresAt: Date;
}

/** What an account has allowed an OAuth client, as its owner sees it. */
export interface OAuthGrantRow {
  readonly id: string;
  readonly userId: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly scopes: string[];
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

export const ApiKey = builder.objectRef<ApiKeyRow>('ApiKey').implement({
  description: 'A key that an application calls with in the name of its account. Visible to its owner alone.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'A UUIDv7 that never changes. It is not the key.' }),
    name: t.exposeString('name', { description: 'What the key is for, in its owner’s words.' }),
    prefix: t.exposeString('prefix', {
      description: 'The first characters of the key, enough to recognise it by. The rest is not kept.',
    }),
    scopes: t.exposeStringList('scopes', {
      description: 'What the key allows, as far as its account is allowed it.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the key was made.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key was last used, to the minute; null where it never was.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key ends by itself; null where it is valid until it is revoked.',
    }),
  }),
});

export const Session = builder.objectRef<SessionRow>('Session').implement({
  description: 'A login that lasts. Visible to its owner alone.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'A UUIDv7 that never changes. It is not what the cookie holds.' }),
    userAgent: t.exposeString('userAgent', {
      nullable: true,
      description: 'What the browser called itself at login; null where it did not.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was logged in.' }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      description: 'When the session was last used, to the minute.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description:
        'When the session ends unless it is used before: seven days after its last use, thirty days after login at the latest.',
    }),
    current: t.boolean({
      description: 'Whether this is the session that asks.',
      resolve: ({ id }, _args, context) => principalOf(context).credentialId === id,
    }),
  }),
});

export const OAuthGrant = builder.objectRef<OAuthGrantRow>('OAuthGrant').implement({
  description: 'What an account has allowed an OAuth client. Visible to its owner alone.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'A UUIDv7 that never changes.' }),
    clientId: t.exposeID('clientId', { description: 'The `client_id` of the client.' }),
    clientName: t.exposeString('clientName', { description: 'What the client is called.' }),
    scopes: t.exposeStringList('scopes', {
      description: 'What the client may do at most, as far as the account may do it.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was first allowed.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the client last called in the name of the account, to the minute; null where it never did.',
    }),
  }),
});
