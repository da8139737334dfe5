/** Password managers look for the form that changes the password at a well-known path. */
export const ACCOUNT_PATHS = {
  password: '/account/password',
  changePassword: '/.well-known/change-password',
} as const;

/** The id of the first field of the password form. A browser that navigates to the field opens the form. */
export const PASSWORD_FORM = 'old-password';

/** The token is a query parameter, because no log contains queries. */
export const TOKEN_PARAMETER = 'token';

/** @param origin the public origin of the service, never one from a request */
export const linkAddress = (origin: string, token: string): string =>
  `${origin}${ACCOUNT_PATHS.password}?${TOKEN_PARAMETER}=${token}`;
