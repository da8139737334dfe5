import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Route } from '../../../src/http/exchange.ts';
import { createCompression } from '../../../src/http/hooks/compression.ts';
import { HttpResponse, PlainRequest } from '../../../src/http/message.ts';
import { ApiError } from '../../../src/platform/errors.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { admittedRequest } from '../../support/admitted-request.ts';
import { useApp } from '../../support/app.ts';
import { visitor } from '../../support/credentials/session.ts';

const log = createLogger({ level: 'silent', pretty: false });
const OWN = 'https://app.example.com';
const SECURITY_CONTACT = 'mailto:security@example.com';
const app = useApp({ settings: { NODE_ENV: 'development', CORS_ORIGINS: OWN, SECURITY_CONTACT } });
const production = useApp({
  settings: {
    NODE_ENV: 'production',
    SECRET_KEY: 'bEyV0mZk3Q1n8rTqXw5LhD2uGs7PoCfA',
    PUBLIC_URL: 'https://api.example.com',
    METRICS_TOKEN: 'a-token-of-24-characters',
    SECURITY_CONTACT,
  },
});

/** A path that the route answers. */
const pathOf = ({ path }: Route) => path.replace(':uid', 'unknown').replace('/*', '/nothing');
/** Whether its responses tell of the bucket. */
const isReported = ({ bucket, documentOnly }: Route) => bucket !== undefined && !documentOnly;
const usualMethod = ({ methods }: Route) => (methods.includes('POST') ? 'POST' : 'GET');

/** The pages that describe paths. */
const contract = ['http', 'limits', 'authentication', 'oauth', 'accounts']
  .map((page) => readFileSync(join(import.meta.dirname, `../../../docs/reference/${page}.md`), 'utf8'))
  .join('\n')
  .replaceAll(/\s+/g, ' ');
/** The paths that the contract names between two pieces of its text. */
function pathsIn(from: string, to: string): string[] {
  const start = contract.indexOf(from);
  const list = contract.slice(start, contract.indexOf(to, start));
  return [...list.matchAll(/`(\/[^`]*)`/g)].map(([, path = '']) => path);
}
const isBelow = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

/** Does the same with every route, so that a failure names all that differ. */
async function each<T>(routes: readonly Route[], look: (route: Route) => Promise<T> | T) {
  const found: [path: string, T][] = [];
  for (const route of routes) found.push([route.path, await look(route)]);
  return found;
}
const wanted = <T>(routes: readonly Route[], of: (route: Route) => T) =>
  routes.map((route) => [route.path, of(route)]);

describe('every route of the table', () => {
  it('is there: those of the core, of OAuth and of development', () => {
    const paths = app.app.routes.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['/graphql', '/oauth/token', '/example/*']));
    expect(new Set(paths).size).toBe(paths.length);
    expect(production.app.routes.map(({ path }) => path)).not.toContain('/example/*');
  });

  it('rejects other methods with 405, its own as Allow, and the errors of its form', async () => {
    const { key } = await app.account();
    const other = ({ methods }: Route) =>
      ['PUT', 'DELETE', 'GET', 'POST'].filter((it) => !methods.includes(it));
    const routes = app.app.routes.filter((route) => other(route).length > 0);
    expect(routes.length).toBeGreaterThan(15);
    const rejection = new ApiError('BAD_REQUEST', 'wrong method', { status: 405 });
    const looked = await each(routes, async (route) => {
      const responses = await Promise.all(
        other(route).map(async (method) => {
          const headers = route.credentials === 'required' ? { authorization: `Bearer ${key}` } : {};
          const response = await app.fetch(pathOf(route), { method, headers });
          const { status, headers: given } = response;
          const body = await response.text();
          return [status, given.get('allow'), given.get('content-type'), body.slice(0, 10)];
        }),
      );
      return [...new Set(responses.map((it) => JSON.stringify(it)))];
    });
    const expected = await each(routes, async (route) => {
      const shown = route.errors(rejection, admittedRequest(), log).toResponse();
      const body = await shown.text();
      const type = shown.headers.get('content-type');
      return [JSON.stringify([405, route.methods.join(', '), type, body.slice(0, 10)])];
    });
    expect(looked).toEqual(expected);
  });

  it('is no-store unless caches may store it, and so is what is not there', async () => {
    const noStore = async (path: string, method = 'GET') =>
      (await app.fetch(path, { method })).headers.get('cache-control') === 'no-store';
    // Below a folder there is nothing by the name that we ask for.
    const routes = app.app.routes.filter(({ path, storable }) => !storable || !path.endsWith('/*'));
    const looked = await each(routes, (route) => noStore(pathOf(route), usualMethod(route)));
    expect(looked).toEqual(wanted(routes, ({ storable }) => !storable));
    for (const path of ['/nowhere', '/graphiql/nothing', '/example/nothing'])
      expect([path, await noStore(path)]).toEqual([path, true]);
  });

  it('is compressed only where its length tells nothing', async () => {
    const compression = createCompression();
    const encoding = async (route: Route) => {
      const url = `http://localhost${pathOf(route)}`;
      const request = new PlainRequest('GET', url, { 'accept-encoding': 'gzip' }, new Uint8Array());
      const response = new HttpResponse('a'.repeat(2_000), { headers: { 'content-type': 'text/plain' } });
      return (
        compression.choose(response, request, admittedRequest('127.0.0.1', { route }), new URL(url)) !==
        undefined
      );
    };
    const { routes } = app.app;
    expect(await each(routes, encoding)).toEqual(wanted(routes, ({ compressible }) => compressible));
  });

  it('is rejected over plain HTTP in production if its body or its response has credentials', async () => {
    const { routes } = production.app;
    const isRejected = async (route: Route) => {
      const request = new Request(`http://api.example.com${pathOf(route)}`, { method: usualMethod(route) });
      return (await production.app.fetch(request, { peerAddress: '203.0.113.7' })).status === 403;
    };
    expect(await each(routes, isRejected)).toEqual(wanted(routes, ({ needsTls }) => needsTls));
  });

  it('takes a token and tells of it, or does not', async () => {
    const { routes } = app.app;
    const takes = async (route: Route) => {
      const response = await app.fetch(pathOf(route), { method: usualMethod(route) });
      return response.headers.has('x-ratelimit-remaining');
    };
    expect(await each(routes, takes)).toEqual(wanted(routes, isReported));
  });

  it('rejects bad credentials if it reads any, and does not look at them if it ignores them', async () => {
    const routes = app.app.routes.filter(({ credentials }) =>
      /read|stream-token|required|ignored/.test(credentials),
    );
    const rejects = async (route: Route) => {
      const headers = { authorization: 'Bearer nonsense' };
      const response = await app.fetch(pathOf(route), { method: usualMethod(route), headers });
      return response.status === 401;
    };
    const wantedOf = ({ credentials }: Route) => credentials !== 'ignored';
    expect(await each(routes, rejects)).toEqual(wanted(routes, wantedOf));
  });

  it('may be read by pages of CORS_ORIGINS, by its methods, or by none', async () => {
    const { routes } = app.app;
    const readable = async (route: Route) => {
      const { headers } = await app.fetch(pathOf(route), { method: 'OPTIONS', headers: { origin: OWN } });
      return [headers.get('access-control-allow-origin'), headers.get('access-control-allow-methods')];
    };
    const wantedOf = ({ cors, methods }: Route) => (cors ? [OWN, methods.join(', ')] : [null, null]);
    expect(await each(routes, readable)).toEqual(wanted(routes, wantedOf));
  });

  it('takes no post from a page of another origin, if it is to check', async () => {
    const routes = app.app.routes.filter(
      ({ methods, originCheck, bucket }) =>
        methods.includes('POST') && (originCheck !== 'none' || bucket !== undefined),
    );
    const { key, cookie } = await visitor(app);
    const rejectsWith = (credentials: Record<string, string>) => async (route: Route) => {
      const headers = { origin: 'https://elsewhere.example.com', ...credentials };
      return (await app.fetch(pathOf(route), { method: 'POST', headers })).status === 403;
    };
    const isAlways = ({ originCheck }: Route) => originCheck === 'always' || originCheck === 'own';
    const always = wanted(routes, isAlways);
    expect(await each(routes, rejectsWith({}))).toEqual(always);
    expect(await each(routes, rejectsWith({ authorization: `Bearer ${key}` }))).toEqual(always);
    // What reads its own credentials takes no cookie.
    const ofCookie = wanted(routes, (route) =>
      route.credentials === 'own' ? isAlways(route) : route.originCheck !== 'none',
    );
    expect(await each(routes, rejectsWith({ cookie }))).toEqual(ofCookie);
    // The forms of the service's own pages.
    const ofOwn = wanted(routes, ({ originCheck }) => originCheck === 'own');
    for (const credentials of [{}, { cookie }])
      expect(await each(routes, rejectsWith({ ...credentials, origin: OWN }))).toEqual(ofOwn);
  });

  it('opens as a document only, if it is a page for users', async () => {
    const { routes } = app.app;
    const opensAs = (destination: string) => async (route: Route) => {
      const headers = { 'sec-fetch-dest': destination, 'sec-fetch-site': 'cross-site' };
      const response = await app.fetch(pathOf(route), { method: usualMethod(route), headers });
      return !(await response.text()).includes('inside another page');
    };
    for (const destination of ['image', 'iframe', 'empty'])
      expect(await each(routes, opensAs(destination))).toEqual(
        wanted(routes, ({ documentOnly }) => !documentOnly),
      );
    expect(await each(routes, opensAs('document'))).toEqual(wanted(routes, () => true));
  });

  it('is in the log and in the metrics by its path', async () => {
    const { routes } = app.app;
    const shown = async (route: Route) => {
      const id = `of ${route.path}`;
      await app.fetch(pathOf(route), { method: usualMethod(route), headers: { 'x-request-id': id } });
      const line = app.logged.find((it) => it.includes(`"${id}"`) && it.includes('"status"')) ?? '{}';
      return JSON.parse(line).path;
    };
    const path = (route: Route) => (route.logged === 'route' ? route.path : pathOf(route));
    expect(await each(routes, shown)).toEqual(wanted(routes, path));
    const metrics = await (await app.fetch('/metrics')).text();
    const counted = ({ path: label }: Route) =>
      metrics.includes(`content_graph_http_requests_total{route="${label}",`);
    expect(await each(routes, counted)).toEqual(wanted(routes, () => true));
  });
});

describe('the contract', () => {
  const routesThat = (are: (route: Route) => boolean) =>
    production.app.routes.filter(are).map(({ path }) => path.replace('/*', ''));

  it.each([
    ['no-store', '`Cache-Control: no-store` is set', 'unknown paths', (route: Route) => !route.storable],
    ['never compressed', 'Never compressed:', 'streams', (route: Route) => !route.compressible],
  ])('names the routes that are %s, and only those', (_what, from, to, are) => {
    const named = pathsIn(from, to);
    expect(named.length).toBeGreaterThan(2);
    const [chosen, others] = [routesThat(are), routesThat((route) => !are(route))];
    const toDo = (verb: string) => `docs/reference/http.md: ${verb} the list at "${from}"`;
    expect(
      chosen.filter((path) => !named.some((folder) => isBelow(path, folder))),
      toDo('add to'),
    ).toEqual([]);
    expect(
      named.filter((folder) => !chosen.some((path) => isBelow(path, folder))),
      toDo('take from'),
    ).toEqual([]);
    expect(
      others.filter((path) => named.some((folder) => isBelow(path, folder))),
      toDo('take from'),
    ).toEqual([]);
  });

  it('names each route that takes a token', () => {
    const named = pathsIn('A request to ', 'takes one token');
    expect(
      named.toSorted(),
      'docs/reference/limits.md, "A request to … takes one token": name all routes with a bucket, but pages',
    ).toEqual(routesThat(isReported).toSorted());
  });

  it('names every route of production, but for the pages within a sign-in', () => {
    const paths = routesThat(({ path }) => !path.includes(':'));
    const isNamed = (path: string) => new RegExp(`[\`\\s]${path.replaceAll('.', '\\.')}[\`?]`).test(contract);
    expect(
      paths.filter((path) => !isNamed(path)),
      'docs/reference/http.md: describe each path',
    ).toEqual([]);
  });
});
