/** The pages of an account, and where password managers look for the form that changes the password. */
export const ACCOUNT_PATHS = {
  password: '/account/password',
  changePassword: '/.well-known/change-password',
} as const;

/** The id of the first field of that form. A browser that is led to the field opens the form. */
export const PASSWORD_FORM = 'old-password';

/** The query parameter that holds a link's token: no log has queries. */
export const TOKEN_PARAMETER = 'token';

/** The link to send. `origin` is that of the service, never what a request says it is. */
export const linkAddress = (origin: string, token: string): string =>
  `${origin}${ACCOUNT_PATHS.password}?${TOKEN_PARAMETER}=${token}`;
