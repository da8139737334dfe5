import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { gqlAs, visitor } from '../../support/credentials/session.ts';
import { useSocket } from '../../support/socket.ts';

const app = useApp();
const VIEWER = '{ viewer { id } }';
const QUERY = `query=${encodeURIComponent(VIEWER)}`;

/** Every way to write the name `api_key` in a query string. */
const NAMES = ['api_key', 'api%5Fkey', 'api%5fkey', '%61pi_key', '%61%70%69%5f%6b%65%79'];

describe('a query parameter api_key', () => {
  it.each(NAMES)('counts before the cookie when it is written %s', async (name) => {
    const { id, key, cookie } = await visitor(app);
    const ask = (search: string) => app.fetch(`/graphql?${search}`, { headers: { cookie } });
    const good = await ask(`${QUERY}&${name}=${key}`);
    expect(await good.json()).toEqual({ data: { viewer: { id } } });
    for (const bad of [`${name}=x`, `${name}=`, name])
      expect((await ask(`${QUERY}&${bad}`)).status, bad).toBe(401);
    expect((await ask(`${QUERY}&${name}=${key}&api_key=${key}`)).status).toBe(401);
    expect((await ask(`${QUERY}&api_key=x&${name}=${key}`)).status).toBe(401);
  });

  it('is not one of another name', async () => {
    const { cookie } = await visitor(app);
    for (const name of ['API_KEY', 'api-key', 'xapi_key', 'api_key%00', 'api_key[]'])
      expect((await app.fetch(`/graphql?${QUERY}&${name}=x`, { headers: { cookie } })).status).toBe(200);
  });
});

describe('two session cookies', () => {
  it.each([
    ['the good one first', (good: string) => `${good}; session_id=${'A'.repeat(43)}`],
    ['the good one last', (good: string) => `session_id=${'A'.repeat(43)}; ${good}`],
    ['two good ones', (good: string) => `${good}; ${good}`],
    ['one of them empty', (good: string) => `session_id=; ${good}`],
    ['others between them', (good: string) => `a=b; ${good}; c=d;session_id=x; e`],
  ])('are 401, %s', async (_which, cookies) => {
    const { cookie } = await visitor(app);
    const rejected = await gqlAs(app, cookies(cookie), VIEWER);
    expect(rejected.status).toBe(401);
    // It would take away one of them, and perhaps the wrong one.
    expect(rejected.headers.getSetCookie()).toEqual([]);
    expect((await gqlAs(app, cookie, VIEWER)).status).toBe(200);
  });

  it('matter no more than one beside another credential that counts', async () => {
    const { key, cookie: good } = await visitor(app);
    expect((await app.gql(VIEWER, { key: 'nonsense', headers: { cookie: good } })).status).toBe(401);
    const cookie = 'session_id=a; session_id=b';
    expect((await app.gql(VIEWER, { key, headers: { cookie } })).status).toBe(200);
    expect((await app.fetch(`/graphql?${QUERY}&api_key=${key}`, { headers: { cookie } })).status).toBe(200);
  });
});

describe('two Authorization headers', () => {
  const socket = useSocket(app);

  it.each([
    ['the good one first', (good: string) => [good, 'Bearer x']],
    ['the good one last', (good: string) => ['Bearer x', good]],
    ['two good ones', (good: string) => [good, good]],
    ['one of them empty', (good: string) => [good, '']],
  ])('are 401 on every way in, %s', async (_which, both) => {
    const { key, cookie } = await visitor(app);
    const [first, second] = both(`Bearer ${key}`);
    const body = JSON.stringify({ query: VIEWER });
    for (const more of [`cookie: ${cookie}`, 'origin: http://localhost']) {
      const head = ['POST /graphql HTTP/1.1', 'host: localhost', `authorization: ${first}`, more];
      head.push(`Authorization: ${second}`, 'content-type: application/json', 'connection: close');
      const result = await socket.send(
        `${head.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      expect(result).toMatch(/^HTTP\/1\.1 401 /);
      expect(result).not.toContain('"data"');
    }
  });
});

describe('POST /logout ends the session, or says that it does not', () => {
  const logout = (path: string, headers: Record<string, string>) =>
    app.fetch(path, { method: 'POST', headers });

  it.each([...NAMES.map((name) => `/logout?${name}=x`), '/logout?api_key=', '/logout?api_key=x&api_key=y'])(
    '%s with a good cookie is 401, and the session lives on',
    async (path) => {
      const { cookie } = await visitor(app);
      const response = await logout(path, { cookie });
      expect(response.status).toBe(401);
      expect(response.headers.getSetCookie()).toEqual([]);
      expect((await gqlAs(app, cookie, VIEWER)).status).toBe(200);
    },
  );

  it('is 403 with a valid key beside the cookie, and the session lives on', async () => {
    const { cookie, key } = await visitor(app);
    expect((await logout(`/logout?api_key=${key}`, { cookie })).status).toBe(403);
    expect((await gqlAs(app, cookie, VIEWER)).status).toBe(200);
  });

  it('is 401 with two cookies, and the session lives on', async () => {
    const { cookie } = await visitor(app);
    expect((await logout('/logout', { cookie: `${cookie}; session_id=x` })).status).toBe(401);
    expect((await logout('/logout', { cookie: `session_id=x; ${cookie}` })).status).toBe(401);
    expect((await gqlAs(app, cookie, VIEWER)).status).toBe(200);
  });

  it('is 204 with the cookie alone, whatever other parameters there are', async () => {
    const { cookie } = await visitor(app);
    expect((await logout('/logout?x=api_key', { cookie })).status).toBe(204);
    expect((await gqlAs(app, cookie, VIEWER)).status).toBe(401);
  });
});
