import { OAUTH_METADATA, OPENID_METADATA, RESOURCE_METADATA } from '../../http/routes/table.ts';

export const OAUTH_PATHS = {
  discovery: OAUTH_METADATA,
  openIdDiscovery: OPENID_METADATA,
  /**
   * The metadata describes the whole origin as a resource. The resource `/graphql` has a document below this
   * path (RFC 9728 §3.1).
   */
  originMetadata: '/.well-known/oauth-protected-resource',
  resourceMetadata: RESOURCE_METADATA,
  jwks: '/oauth/jwks',
  authorize: '/oauth/authorize',
  interaction: '/oauth/interaction/:uid',
  login: '/oauth/interaction/:uid/login',
  allow: '/oauth/interaction/:uid/allow',
  cancel: '/oauth/interaction/:uid/cancel',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
  introspect: '/oauth/introspect',
  userinfo: '/oauth/userinfo',
  logout: '/oauth/logout',
  confirmLogout: '/oauth/logout/confirm',
  others: '/oauth/*',
} as const;

export const signInPath = (page: 'interaction' | 'login' | 'allow' | 'cancel', uid: string): string =>
  OAUTH_PATHS[page].replace(':uid', uid);

/** Only the library has this path. */
export const resumePath = (uid: string): string => `${OAUTH_PATHS.authorize}/${uid}`;

/** The third segment of a sign-in's path is its id. */
export const signInOf = (url: string): string => new URL(url).pathname.split('/')[3] ?? '';
