/** The OAuth routes by name: their paths and methods. */
export const OAUTH_ROUTES = {
  discovery: { path: '/.well-known/oauth-authorization-server', methods: ['GET', 'HEAD'] },
  jwks: { path: '/oauth/jwks', methods: ['GET', 'HEAD'] },
  authorize: { path: '/oauth/authorize', methods: ['GET'] },
  resume: { path: '/oauth/authorize/:uid', methods: ['GET'] },
  interaction: { path: '/oauth/interaction/:uid', methods: ['GET'] },
  login: { path: '/oauth/interaction/:uid/login', methods: ['POST'] },
  allow: { path: '/oauth/interaction/:uid/allow', methods: ['POST'] },
  cancel: { path: '/oauth/interaction/:uid/cancel', methods: ['POST'] },
  token: { path: '/oauth/token', methods: ['POST'] },
  revoke: { path: '/oauth/revoke', methods: ['POST'] },
  introspect: { path: '/oauth/introspect', methods: ['POST'] },
} as const satisfies Record<string, { readonly path: string; readonly methods: readonly string[] }>;

export type OAuthRoute = keyof typeof OAUTH_ROUTES;

const BY_PATH = new Map(
  Object.entries(OAUTH_ROUTES).map(([name, { path }]) => [path as string, name as OAuthRoute]),
);
/** The pages of a sign-in in progress have its id in their path. */
const UNDER_WAY = /^\/oauth\/(authorize|interaction)\/([\w-]{1,100})(\/\w+)?$/;

/** Whether the path belongs to OAuth, even if no route exists for it. */
export function isOAuthPath(pathname: string): boolean {
  return pathname.startsWith('/oauth/') || pathname === '/oauth' || pathname === OAUTH_ROUTES.discovery.path;
}

/** The route of a path, and the sign-in id in it. */
export function oauthRouteOf(pathname: string): { route: OAuthRoute | undefined; uid: string } {
  const [, page, uid = '', rest = ''] = UNDER_WAY.exec(pathname) ?? [];
  const route = BY_PATH.get(page === undefined ? pathname : `/oauth/${page}/:uid${rest}`);
  return { route, uid };
}

/**
 * The path for logs and metrics. It omits the sign-in id, which is half of what gives access to a sign-in.
 */
export function shownOAuthPath(pathname: string): string {
  const { route } = oauthRouteOf(pathname);
  return route === undefined ? '/oauth/*' : OAUTH_ROUTES[route].path;
}

/** HTML pages for users: scripts of other sites get no access, and refusals are pages too. */
const PAGES: ReadonlySet<OAuthRoute> = new Set([
  'authorize',
  'resume',
  'interaction',
  'login',
  'allow',
  'cancel',
]);

export function isOAuthPage(pathname: string): boolean {
  const { route } = oauthRouteOf(pathname);
  return route !== undefined && PAGES.has(route);
}
