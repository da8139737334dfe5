import { METHODS } from 'node:http';
import type { Negotiated } from '../../request/media-type.ts';
import type { Answer, Route, RouteProperties } from '../../request/request-state.ts';
import { errorResponse } from '../response/error-response.ts';

/** The paths of the service. Those of features and of the pages for development are where their routes are. */
export const PATHS = {
  graphql: '/graphql',
  streamToken: '/graphql/stream-token',
  login: '/login',
  logout: '/logout',
  live: '/health/live',
  ready: '/health/ready',
  metrics: '/metrics',
  graphiql: '/graphiql/',
} as const;

/** For what is the same for everybody. */
export const OPEN: RouteProperties = {
  methods: ['GET', 'HEAD'],
  readsBody: false,
  takesToken: false,
  credentials: 'ignored',
  needsTls: false,
  storable: true,
  compressible: true,
  cors: true,
  originCheck: 'none',
  errors: errorResponse,
  logged: 'asked',
  page: undefined,
};

/** For what is between a caller and the service. */
export const PRIVATE: RouteProperties = {
  ...OPEN,
  methods: ['POST'],
  readsBody: true,
  takesToken: true,
  credentials: 'read',
  storable: false,
  originCheck: 'with-cookie',
};

/** For what answers with credentials, or ends them. */
export const SECRET: RouteProperties = {
  ...PRIVATE,
  needsTls: true,
  compressible: false,
  logged: 'route',
};

/** For a path at which there is nothing. */
export const NOTHING: Route = {
  ...SECRET,
  path: 'other',
  methods: METHODS,
  takesToken: false,
  credentials: 'optional',
  needsTls: false,
  originCheck: 'none',
  logged: 'asked',
  answer: async () => undefined,
};

export type CoreAnswers = Readonly<
  Record<'graphql' | 'streamToken' | 'login' | 'logout' | 'live' | 'ready' | 'metrics', Answer>
>;

/** The routes that every service has. `page` is what browsers get that open GraphQL's path. */
export function coreRoutes(answers: CoreAnswers, page: Route | undefined): Route[] {
  return [
    {
      ...PRIVATE,
      path: PATHS.graphql,
      methods: ['GET', 'POST'],
      credentials: 'with-stream-token',
      // A mutation with a session is checked once the operation is known (admission.ts).
      originCheck: 'none',
      page,
      answer: answers.graphql,
    },
    // Where no credentials come along, there is nothing to protect.
    {
      ...SECRET,
      path: PATHS.streamToken,
      credentials: 'required',
      needsTls: false,
      answer: answers.streamToken,
    },
    {
      ...SECRET,
      path: PATHS.login,
      methods: ['GET', 'HEAD', 'POST'],
      credentials: 'session',
      originCheck: 'always',
      answer: answers.login,
    },
    {
      ...SECRET,
      path: PATHS.logout,
      readsBody: false,
      credentials: 'optional',
      needsTls: false,
      answer: answers.logout,
    },
    { ...OPEN, path: PATHS.live, answer: answers.live },
    { ...OPEN, path: PATHS.ready, answer: answers.ready },
    { ...OPEN, path: PATHS.metrics, answer: answers.metrics },
  ];
}

/** The route of a request. Every request has one: for paths that are not in the table, it answers 404. */
export type RouteOf = (method: string, pathname: string, accepts: Negotiated) => Route;

/** Whether a path has parameters or stands for a folder. */
const PATTERN = /:|\*$/;

const matcherOf = (path: string) =>
  new RegExp(`^${path.replace('/*', '(?:/.*)?').replaceAll(/:\w+/g, '[\\w-]{1,100}')}$`);

/** Of several routes that match a path, one without parameters counts, else the first. */
export function createTable(routes: readonly Route[]): RouteOf {
  const byPath = new Map<string, Route>();
  const patterns: { readonly route: Route; readonly matcher: RegExp }[] = [];
  for (const route of routes)
    if (PATTERN.test(route.path)) patterns.push({ route, matcher: matcherOf(route.path) });
    else byPath.set(route.path, route);
  const find = (pathname: string) =>
    byPath.get(pathname) ?? patterns.find(({ matcher }) => matcher.test(pathname))?.route ?? NOTHING;
  return (method, pathname, accepts) => {
    const route = find(pathname);
    return route.page !== undefined && method === 'GET' && accepts.html ? route.page : route;
  };
}
