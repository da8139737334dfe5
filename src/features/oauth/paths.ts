import { OAUTH_METADATA, RESOURCE_METADATA } from '../../http/routes/table.ts';

/** The paths of OAuth. The pages of a sign-in in progress have its id in theirs. */
export const OAUTH_PATHS = {
  discovery: OAUTH_METADATA,
  /** Of the origin as a resource, which the document of `/graphql` is below (RFC 9728 section 3.1). */
  originMetadata: '/.well-known/oauth-protected-resource',
  resourceMetadata: RESOURCE_METADATA,
  jwks: '/oauth/jwks',
  authorize: '/oauth/authorize',
  resume: '/oauth/authorize/:uid',
  interaction: '/oauth/interaction/:uid',
  login: '/oauth/interaction/:uid/login',
  allow: '/oauth/interaction/:uid/allow',
  cancel: '/oauth/interaction/:uid/cancel',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
  introspect: '/oauth/introspect',
  others: '/oauth/*',
} as const;

/** The path of a page of a sign-in. */
export const signInPath = (
  page: 'resume' | 'interaction' | 'login' | 'allow' | 'cancel',
  uid: string,
): string => OAUTH_PATHS[page].replace(':uid', uid);

/** The id of the sign-in in the path of one of its pages. */
export const signInOf = (pathname: string): string => pathname.split('/')[3] ?? '';
