import { METHODS } from 'node:http';
import { memoize } from '../../platform/cache.ts';
import type { Route, RouteHandler, RouteProperties } from '../exchange.ts';
import { html, pageErrorsTo } from '../html/page.ts';
import type { RequestUrl } from '../message.ts';
import type { Negotiated } from '../negotiate.ts';
import { errorResponse } from '../response/responder.ts';

/** Features define all other paths. */
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

/** Browsers start at this path, which has a page in development only. */
export const HOME = '/';
/** A feature serves the account page. */
export const ACCOUNT = '/account';
/** Clients find the issuer of tokens for `/graphql` here (RFC 9728 §3.1). A feature serves the document. */
export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource/graphql';
/** OAuth libraries read about the authorization server here (RFC 8414). A feature serves the document. */
export const OAUTH_METADATA = '/.well-known/oauth-authorization-server';
/** OpenID Connect libraries read the same document here (OpenID Connect Discovery §4). */
export const OPENID_METADATA = '/.well-known/openid-configuration';

/** The responses are identical for every client. */
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

/** A cache would report the state of an instance that has stopped since. */
const WATCH: RouteProperties = { ...PUBLIC_ROUTE, probe: true, storable: false };

const API_ROUTE: RouteProperties = {
  ...PUBLIC_ROUTE,
  methods: ['POST'],
  readsBody: true,
  bucket: 'requests',
  credentials: 'read',
  storable: false,
  originCheck: 'with-cookie',
};

/** Handlers of these routes respond with credentials or revoke them. */
export const CREDENTIAL_ROUTE: RouteProperties = {
  ...API_ROUTE,
  needsTls: true,
  compressible: false,
  logged: 'route',
};

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

const CORE_ROUTES: Readonly<Record<keyof typeof PATHS, RouteProperties>> = {
  graphql: {
    ...API_ROUTE,
    methods: ['GET', 'HEAD', 'POST'],
    varies: ['Accept', 'X-Show-Cost', 'X-Show-Event-Id', 'X-Show-Deprecations'],
    credentials: 'with-stream-token',
    // `admission.ts` checks the origin of a mutation with a session once the operation is known.
    originCheck: 'none',
  },
  // Without credentials, plain HTTP exposes no secret.
  streamToken: { ...CREDENTIAL_ROUTE, credentials: 'required', needsTls: false },
  login: {
    ...CREDENTIAL_ROUTE,
    bucket: 'logins',
    methods: ['GET', 'HEAD', 'POST'],
    credentials: 'session-of-get',
    originCheck: 'always',
  },
  logout: {
    ...CREDENTIAL_ROUTE,
    readsBody: false,
    credentials: 'optional',
    needsTls: false,
    originCheck: 'always',
  },
  live: WATCH,
  ready: WATCH,
  metrics: { ...WATCH, varies: ['Accept'] },
  securityTxt: PUBLIC_ROUTE,
};

export const coreRoute = (name: keyof typeof PATHS, handler: RouteHandler): Route => ({
  ...CORE_ROUTES[name],
  path: PATHS[name],
  handler,
});

/** Every request has a route. The route of unknown paths responds 404. */
type RouteOf = (method: string, url: RequestUrl, accepts: Negotiated) => Route;

const PATTERN = /:|\*$/;

const matcherOf = (path: string) =>
  new RegExp(`^${path.replace('/*', '(?:/.*)?').replaceAll(/:\w+/g, '[\\w-]{1,100}')}$`);

/** A route without parameters wins, then the first match. `nothing` is the route of all other paths. */
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

/** Error pages link to the first of these pages that exists. */
const PLACES = [
  { path: HOME, name: 'Go to the start page' },
  { path: ACCOUNT, name: 'Go to your account' },
];

export function notFoundRoute(routes: readonly Route[]): Route {
  const place = PLACES.find(({ path }) => routes.some((route) => route.path === path));
  const onwards = place && html`<a href="${place.path}">${place.name}</a>`;
  const route: Route = { ...NOT_FOUND_ROUTE, varies: ['Accept'] };
  return { ...route, page: { ...route, errors: pageErrorsTo(onwards) } };
}

/** Every parser reads such a target identically: plain segments with any query. */
const PLAIN_TARGET = /^(?:\/\.?[\w-]+(?:\.[\w-]+)*)+(?:\?[\x21\x24-\x7e]*)?$/;
const PLAIN_METHODS = new Set<string | undefined>(['GET', 'HEAD', 'POST', 'OPTIONS']);

export const isFastPathRequest = (method: string | undefined, target: string | undefined): boolean =>
  target !== undefined &&
  PLAIN_METHODS.has(method) &&
  (target === PATHS.graphql || PLAIN_TARGET.test(target));

/** URL getters compute on each access, and nearly all requests ask for the GraphQL URL. */
const graphqlUrl = memoize((host): RequestUrl => {
  const { href, hostname, pathname, search, searchParams } = new URL(PATHS.graphql, `http://${host}`);
  return { href, hostname, pathname, search, searchParams };
});

/** Only targets of the fast path are valid here. */
export const urlOf = (target: string, host: string): RequestUrl =>
  target === PATHS.graphql ? graphqlUrl(host) : new URL(target, graphqlUrl(host).href);

export const targetOf = ({ pathname, search }: RequestUrl): string => pathname + search;
