/** The pages of an account. */
export const ACCOUNT_PATHS = {
  password: '/account/password',
} as const;

/** The query parameter that holds a link's token: no log has queries. */
export const TOKEN_PARAMETER = 'token';

/** The link to send. `origin` is that of the service, never what a request says it is. */
export const linkAddress = (origin: string, token: string): string =>
  `${origin}${ACCOUNT_PATHS.password}?${TOKEN_PARAMETER}=${token}`;
