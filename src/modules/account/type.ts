import type { StoredApiKey } from '../../auth/api-key/store.ts';
import { principalOf } from '../../graphql/context.ts';
import type { Kernel } from '../../graphql/kernel.ts';

/** A session as its owner sees it. */
export interface SessionRow {
  readonly id: string;
  readonly userId: string;
  readonly userAgent: string | null;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
  readonly expiresAt: Date;
}

export function defineAccountTypes({ builder }: Kernel) {
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
          'When the login happened, or the last change of the password in this browser, which begins a new session.',
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
        description: 'Whether this is the session of this request.',
        resolve: ({ id }, _args, context) => principalOf(context).credentialId === id,
      }),
    }),
  });

  return { ApiKey, Session };
}

export type AccountTypes = ReturnType<typeof defineAccountTypes>;
