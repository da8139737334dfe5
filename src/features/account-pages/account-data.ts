import type { StoredApiKey } from '../../auth/api-keys.ts';
import { exportAccount } from '../../auth/data-export.ts';
import type { Principal } from '../../auth/principal.ts';
import { readConnectionFor } from '../../auth/secrets.ts';
import type { ExternalIdentity, OAuthGrant, Session } from '../../generated/tables.ts';
import type { AdmittedRequest } from '../../http/exchange.ts';
import type { InternalOperations } from '../../http/internal-operations.ts';
import { HttpResponse } from '../../http/message.ts';
import { STREAM_HEADERS } from '../../http/response/event-stream-formats.ts';
import { OperatorError, tryLater } from '../../platform/errors.ts';
import type { FeatureServices, RouteServices } from '../feature.ts';
import type { Action } from './forms.ts';

/** Responses have timestamps as strings. */
type Shown<Row> = {
  readonly [Name in keyof Row]: Row[Name] extends Date
    ? string
    : Row[Name] extends Date | null
      ? string | null
      : Row[Name];
};

export type ShownSession = Shown<Pick<Session, 'id' | 'userAgent' | 'createdAt' | 'lastSeenAt'>> & {
  readonly current: boolean;
};
export type ShownKey = Shown<
  Pick<StoredApiKey, 'id' | 'name' | 'prefix' | 'scopes' | 'createdAt' | 'lastUsedAt' | 'expiresAt'>
>;
export type ShownGrant = Shown<Pick<OAuthGrant, 'id' | 'scopes' | 'createdAt' | 'lastUsedAt'>> & {
  readonly clientName: string;
};
export type ShownIdentity = Shown<
  Pick<ExternalIdentity, 'id' | 'issuer' | 'subject' | 'createdAt' | 'lastUsedAt'>
>;

export interface Account {
  readonly name: string;
  readonly handle: string | null;
  readonly bio: string;
  readonly avatarUrl: string | null;
  readonly email: string;
  readonly sessions: readonly ShownSession[];
  readonly apiKeys: readonly ShownKey[];
  readonly externalIdentities: readonly ShownIdentity[];
  /** Undefined if the service has no OAuth. */
  readonly grants?: readonly ShownGrant[];
}

const documentOf = (hasGrants: boolean) => `query AccountPage {
  viewer {
    name
    handle
    bio
    avatarUrl
    email
    sessions { id userAgent createdAt lastSeenAt current }
    apiKeys { id name prefix scopes createdAt lastUsedAt expiresAt }
    externalIdentities { id issuer subject createdAt lastUsedAt }
    ${hasGrants ? 'grants: oauthGrants { id clientName scopes createdAt lastUsedAt }' : ''}
  }
}`;

/** @throws the errors of the API */
export function accountReader(operations: InternalOperations) {
  const document = documentOf(operations.offers('User', 'oauthGrants'));
  return async (admitted: AdmittedRequest): Promise<Account> => {
    const { data } = await operations.run<{ readonly viewer: Account }>(document, {}, admitted);
    return data.viewer;
  };
}

interface Change {
  readonly document: string;
  variables(form: URLSearchParams): Readonly<Record<string, unknown>>;
}

/** A missing field becomes an empty string. */
const fields =
  (...names: readonly string[]) =>
  (form: URLSearchParams) =>
    Object.fromEntries(names.map((name) => [name, form.get(name) ?? '']));

/** A missing field changes nothing. Browsers send line breaks as CR LF (HTML, form submission). */
const profileFields = (form: URLSearchParams) =>
  Object.fromEntries(
    ['name', 'handle', 'bio', 'avatarUrl'].map((name) => [name, form.get(name)?.replaceAll('\r\n', '\n')]),
  );

const ofId = (name: string, field: string): Change => ({
  document: `mutation ${name}($id: ID!) { ${field}(id: $id) }`,
  variables: fields('id'),
});

/** These mutations return nothing that the page shows. */
export const CHANGES: Partial<Record<Action, Change>> = {
  'update-profile': {
    document: `mutation AccountPageUpdateProfile($name: String, $handle: String, $bio: String, $avatarUrl: String) {
  updateViewer(name: $name, handle: $handle, bio: $bio, avatarUrl: $avatarUrl) { id }
}`,
    variables: profileFields,
  },
  'change-password': {
    document: `mutation AccountPageChangePassword($currentPassword: String!, $newPassword: String!) {
  changePassword(currentPassword: $currentPassword, newPassword: $newPassword)
}`,
    variables: fields('currentPassword', 'newPassword'),
  },
  'end-session': ofId('AccountPageEndSession', 'revokeSession'),
  'revoke-key': ofId('AccountPageRevokeKey', 'revokeApiKey'),
  'revoke-grant': ofId('AccountPageRevokeGrant', 'revokeGrant'),
  'unlink-identity': ofId('AccountPageUnlinkIdentity', 'unlinkIdentity'),
  'revoke-everything': {
    document:
      'mutation AccountPageRevokeEverything($currentPassword: String!) { revokeEverything(currentPassword: $currentPassword) }',
    variables: fields('currentPassword'),
  },
};

export const CREATE_KEY = `mutation AccountPageCreateKey(
  $name: String!, $scopes: [String!]!, $expiresAt: DateTime, $currentPassword: String!
) {
  createApiKey(name: $name, scopes: $scopes, expiresAt: $expiresAt, currentPassword: $currentPassword) { key }
}`;

export type AccountServices = FeatureServices & RouteServices;

const tooMany = () =>
  tryLater('RATE_LIMITED', 'Another download of your data is running. Try again when it is finished.', 10);

/**
 * An account has one export at a time in this process, because an export keeps rows in memory while the
 * client reads.
 */
export function createOwnData({ database, exportSections, sessions, log }: AccountServices) {
  const running = new Set<string>();

  /**
   * The export stops if the session is revoked, so that an intruder gets no data stored later. The client notices an
   * interrupted file, and the log has the reason.
   */
  async function* piecesFor(principal: Principal, requestId: string) {
    const { userId } = principal;
    const own = running.has(userId) ? undefined : userId;
    try {
      if (own === undefined) throw tooMany();
      running.add(own);
      for await (const piece of exportAccount(readConnectionFor(database, own), own, exportSections)) {
        if ((await sessions.renew(principal)) === undefined)
          throw new OperatorError('The session has ended.');
        yield Buffer.from(piece);
      }
    } catch (error) {
      log.emit('account.export_interrupted', { requestId, err: error });
      throw error;
    } finally {
      if (own !== undefined) running.delete(own);
    }
  }

  /** @throws RATE_LIMITED */
  return (principal: Principal, requestId: string): HttpResponse => {
    if (running.has(principal.userId)) throw tooMany();
    const headers = {
      ...STREAM_HEADERS,
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': 'attachment; filename="account.json"',
    };
    return new HttpResponse(piecesFor(principal, requestId), { headers });
  };
}
