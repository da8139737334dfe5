import { METHODS } from 'node:http';
import { memoize } from '../../platform/cache.ts';
import type { Route, RouteHandler, RouteProperties } from '../exchange.ts';
import { html, pageErrorsTo } from '../html/page.ts';
import type { RequestUrl } from '../message.ts';
import type { Negotiated } from '../negotiate.ts';
import { errorResponse } from '../response/responder.ts';

/** The paths that every service has. Others are with their routes. */
export const PATHS = {
  graphql: '/graphql',
  streamToken: '/graphql/stream-token',
  login: '/login',
  logout: '/logout',
  live: '/health/live',
  ready: '/health/ready',
  metrics: '/metrics',
  securityTxt: '/.well-known/security.txt',
} as const;

/** Where browsers start. Development has a page there. */
export const HOME = '/';
/** Where people keep their account. A feature has the page. */
export const ACCOUNT = '/account';
/** Where clients find who issues tokens for `/graphql` (RFC 9728 section 3.1). A feature has the document. */
export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource/graphql';
/** Where OAuth libraries read about the authorization server (RFC 8414). A feature has the document. */
export const OAUTH_METADATA = '/.well-known/oauth-authorization-server';

/** For what is the same for everybody. */
export const PUBLIC_ROUTE: RouteProperties = {
  methods: ['GET', 'HEAD'],
  readsBody: false,
  bucket: undefined,
  credentials: 'ignored',
  probe: false,
  needsTls: false,
  storable: true,
  varies: [],
  compressible: true,
  cors: true,
  originCheck: 'none',
  documentOnly: false,
  errors: errorResponse,
  logged: 'asked',
  page: undefined,
};

/** For what tells how the service is. A cache would report the state of an instance that has stopped since. */
const WATCH: RouteProperties = { ...PUBLIC_ROUTE, probe: true, storable: false };

/** For what is between a caller and the service. */
const API_ROUTE: RouteProperties = {
  ...PUBLIC_ROUTE,
  methods: ['POST'],
  readsBody: true,
  bucket: 'requests',
  credentials: 'read',
  storable: false,
  originCheck: 'with-cookie',
};

/** For handlers that respond with credentials or revoke them. */
export const CREDENTIAL_ROUTE: RouteProperties = {
  ...API_ROUTE,
  needsTls: true,
  compressible: false,
  logged: 'route',
};

/** For a path at which there is nothing. */
export const NOT_FOUND_ROUTE: Route = {
  ...CREDENTIAL_ROUTE,
  path: 'other',
  methods: METHODS,
  bucket: undefined,
  credentials: 'optional',
  needsTls: false,
  originCheck: 'none',
  logged: 'asked',
  handler: async () => undefined,
};

type Paths = typeof PATHS;
/** The handlers that need a part of the service. `coreRoutes` imports all others. */
type CoreHandlers = Readonly<
  Record<
    'graphql' | 'streamToken' | 'login' | 'logout' | 'live' | 'ready' | 'metrics' | 'securityTxt',
    RouteHandler
  >
>;
/** One for each path, under its name. */
type CoreRoutes = { readonly [Name in keyof Paths]: Route & { readonly path: Paths[Name] } };

/** The route of operations. */
export const graphqlRoute = (handler: RouteHandler): CoreRoutes['graphql'] => ({
  ...API_ROUTE,
  path: PATHS.graphql,
  methods: ['GET', 'HEAD', 'POST'],
  varies: ['Accept', 'X-Show-Cost', 'X-Show-Event-Id', 'X-Show-Deprecations'],
  credentials: 'with-stream-token',
  // A mutation with a session is checked once the operation is known (admission.ts).
  originCheck: 'none',
  handler,
});

/** One route for each path, under its name. `page` is what browsers get that open GraphQL's path. */
export function coreRoutes(handlers: CoreHandlers, page: Route | undefined): CoreRoutes {
  return {
    graphql: { ...graphqlRoute(handlers.graphql), page },
    // Where no credentials come along, there is nothing to protect.
    streamToken: {
      ...CREDENTIAL_ROUTE,
      path: PATHS.streamToken,
      credentials: 'required',
      needsTls: false,
      handler: handlers.streamToken,
    },
    login: {
      ...CREDENTIAL_ROUTE,
      path: PATHS.login,
      bucket: 'logins',
      methods: ['GET', 'HEAD', 'POST'],
      credentials: 'session-of-get',
      originCheck: 'always',
      handler: handlers.login,
    },
    logout: {
      ...CREDENTIAL_ROUTE,
      path: PATHS.logout,
      readsBody: false,
      credentials: 'optional',
      needsTls: false,
      originCheck: 'always',
      handler: handlers.logout,
    },
    live: { ...WATCH, path: PATHS.live, handler: handlers.live },
    ready: { ...WATCH, path: PATHS.ready, handler: handlers.ready },
    metrics: { ...WATCH, path: PATHS.metrics, varies: ['Accept'], handler: handlers.metrics },
    securityTxt: { ...PUBLIC_ROUTE, path: PATHS.securityTxt, handler: handlers.securityTxt },
  };
}

/** The route of a request. Every request has one: for paths that are not in the table, it responds 404. */
type RouteOf = (method: string, url: RequestUrl, accepts: Negotiated) => Route;

/** Whether a path has parameters or stands for a folder. */
const PATTERN = /:|\*$/;

const matcherOf = (path: string) =>
  new RegExp(`^${path.replace('/*', '(?:/.*)?').replaceAll(/:\w+/g, '[\\w-]{1,100}')}$`);

/** Of several routes that match a path, one without parameters counts, else the first; `nothing` where none does. */
export function createTable(routes: readonly Route[], nothing: Route): RouteOf {
  const byPath = new Map<string, Route>();
  const patterns: { readonly route: Route; readonly matcher: RegExp }[] = [];
  for (const route of routes)
    if (PATTERN.test(route.path)) patterns.push({ route, matcher: matcherOf(route.path) });
    else byPath.set(route.path, route);
  const find = (pathname: string) =>
    byPath.get(pathname) ?? patterns.find(({ matcher }) => matcher.test(pathname))?.route ?? nothing;
  return (method, { pathname }, accepts) => {
    const route = find(pathname);
    return route.page !== undefined && (method === 'GET' || method === 'HEAD') && accepts.html
      ? route.page
      : route;
  };
}

/** Where people can go on, in the order in which it helps, as far as a service has it. */
const PLACES = [
  { path: HOME, name: 'Go to the start page' },
  { path: ACCOUNT, name: 'Go to your account' },
];

/** The route of paths at which there is nothing: JSON for programs, and a page for browsers, which leads on. */
export function notFoundRoute(routes: readonly Route[]): Route {
  const place = PLACES.find(({ path }) => routes.some((route) => route.path === path));
  const onwards = place && html`<a href="${place.path}">${place.name}</a>`;
  const route: Route = { ...NOT_FOUND_ROUTE, varies: ['Accept'] };
  return { ...route, page: { ...route, errors: pageErrorsTo(onwards) } };
}

/** A path of plain segments, with any query. Every parser reads such a target the same way. */
const PLAIN_TARGET = /^(?:\/\.?[\w-]+(?:\.[\w-]+)*)+(?:\?[\x21\x24-\x7e]*)?$/;
const PLAIN_METHODS = new Set<string | undefined>(['GET', 'HEAD', 'POST', 'OPTIONS']);

/** Whether the fast path handles a request. All others go through Yoga's HTTP handling. */
export const isFastPathRequest = (method: string | undefined, target: string | undefined): boolean =>
  target !== undefined &&
  PLAIN_METHODS.has(method) &&
  (target === PATHS.graphql || PLAIN_TARGET.test(target));

/** The GraphQL URL on a host. URL getters compute on each access, and nearly all requests ask for this URL. */
const graphqlUrl = memoize((host): RequestUrl => {
  const { href, hostname, pathname, search, searchParams } = new URL(PATHS.graphql, `http://${host}`);
  return { href, hostname, pathname, search, searchParams };
});

/** The URL of a target that the fast path takes. */
export const urlOf = (target: string, host: string): RequestUrl =>
  target === PATHS.graphql ? graphqlUrl(host) : new URL(target, graphqlUrl(host).href);

/** Path and query, as the request line has them. */
export const targetOf = ({ pathname, search }: RequestUrl): string => pathname + search;
