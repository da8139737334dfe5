import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../support/app.ts';
import { PASSWORD, person } from '../../support/credentials/session.ts';
import { useSocket } from '../../support/socket.ts';

const app = useApp({ settings: { ANONYMOUS_READ: 'false', GRAPHIQL: 'true' } });
const socket = useSocket(app);
const caller = useAccount(app);

interface Sent {
  readonly method?: string;
  readonly target?: string;
  readonly version?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** Sends a request as it is written, which `fetch` would not, and reads the response. */
async function send({ method = 'GET', target = '/graphql', version = '1.1', headers, body = '' }: Sent) {
  const lines = [
    `${method} ${target} HTTP/${version}`,
    ...(headers ?? ['host: localhost']),
    `authorization: Bearer ${caller.key}`,
    'connection: close',
    ...(body === '' ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
  ];
  const result = await socket.send(`${lines.join('\r\n')}\r\n\r\n${body}`);
  const [head = '', ...rest] = result.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head: head.toLowerCase(), body: rest.join('\r\n\r\n') };
}

const REJECTION = { errors: [{ message: expect.any(String), extensions: { code: 'BAD_REQUEST' } }] };
const QUERY = JSON.stringify({ query: '{ __typename }' });

async function expectBadRequest(sent: Sent): Promise<void> {
  const { status, head, body } = await send(sent);
  expect([sent.target, status]).toEqual([sent.target, 400]);
  expect(head).toMatch(/^x-request-id: \S+$/m);
  expect(JSON.parse(body)).toEqual(REJECTION);
}

describe('a path that is not in normal form', () => {
  const OTHER_SPELLINGS = [
    '/./graphql',
    '/%2e/graphql',
    '/%2E%2e/graphql',
    '/x/../login',
    '/x/%2e%2E/login',
    '/health/../metrics',
    '/health/./live',
    '/health/live/.',
    '/graphql/..',
    '//graphql',
    '/graphql//',
    '/health//live',
    '/%67raphql',
    '/graphq%6C',
    '/log%69n',
    '/%7egraphql',
    '/health%2dlive',
    '/\\graphql',
    '/health\\live',
    '\\graphql',
    'graphql',
    'http://localhost/x/../graphql',
    'http://localhost//graphql',
    'http://localhost',
    'http://evil.example/metrics',
    'https:/graphql',
    '/gra%phql',
    '/graphql%',
    '/graphql%2',
    '/graphql"',
    '/graphql#x',
    '/graph\u00e9',
    '*',
  ];

  it.each(OTHER_SPELLINGS)('is rejected with 400 before any route sees it: %s', async (target) => {
    await expectBadRequest({ target });
    await expectBadRequest({ target, method: 'OPTIONS' });
    await expectBadRequest({ target, method: 'POST', body: QUERY });
    await expectBadRequest({ target: `${target}?query={__typename}` });
  });

  it('signs nobody in, and names no path in the log', async () => {
    const { email } = await person(app);
    const logged = app.logged.length;
    const body = JSON.stringify({ email, password: PASSWORD });
    const { status, head } = await send({ method: 'POST', target: '/x/../login', body });
    expect(status).toBe(400);
    expect(head).not.toContain('set-cookie');
    await send({ target: '/oauth/./interaction/a-secret-name' });
    expect(app.logged.slice(logged).join('')).not.toMatch(/login|a-secret-name/);
  });

  it('has nothing to do with what the query string holds', async () => {
    const query = encodeURIComponent('{ __typename }');
    for (const more of ['', '&x=//', '&x=/../', '&x=%61', '&x=\\', '&x=%']) {
      const { status, body } = await send({ target: `/graphql?query=${query}${more}` });
      expect([more, status, JSON.parse(body)]).toEqual([more, 200, { data: { __typename: 'Query' } }]);
    }
  });

  it('may be written with the host before it, as every server accepts it', async () => {
    const { status, body } = await send({ method: 'POST', target: 'http://localhost/graphql', body: QUERY });
    expect([status, JSON.parse(body)]).toEqual([200, { data: { __typename: 'Query' } }]);
    const { status: found } = await send({ target: 'HTTP://LOCALHOST/health/live?x=1' });
    expect(found).toBe(200);
  });

  it('is not one that merely leads nowhere', async () => {
    for (const target of '/ /Graphql /a%2Fb /a%20b /a;b=c /graphql/x /... /.well-known/x'.split(' '))
      expect([target, (await send({ target })).status]).toEqual([target, 404]);
  });
});

describe('the Host of a request', () => {
  const two = ['host: localhost', 'host: localhost'];
  it.each([
    ['two of them', two],
    ['two that differ', ['host: localhost', 'HOST: evil.example']],
    ['none', []],
    ['an empty one', ['host: ']],
    ['markup', ['host: "><x>']],
    ['a space', ['host: a b']],
    ['a path', ['host: localhost/x']],
    ['user information', ['host: user@localhost']],
    ['a port that is none', ['host: localhost:99999']],
    ['a list', ['host: a, b']],
  ])('is rejected with 400 where it is %s, on every way in', async (_what, headers) => {
    const before = socket.fastResponses;
    await expectBadRequest({ headers });
    await expectBadRequest({ headers, target: '/health/live' });
    await expectBadRequest({ headers, method: 'POST', body: QUERY });
    expect(socket.fastResponses).toBe(before);
  });

  it.each(['localhost', 'localhost:4000', '127.0.0.1', '[::1]:4000', 'api.example.com', 'under_score'])(
    'may be %s',
    async (host) => {
      const before = socket.fastResponses;
      expect((await send({ headers: [`host: ${host}`], target: '/health/live' })).status).toBe(200);
      expect((await send({ headers: [`host: ${host}`], method: 'POST', body: QUERY })).status).toBe(200);
      expect(socket.fastResponses).toBe(before + 2);
    },
  );

  it('is not needed in HTTP/1.0, which knows none', async () => {
    expect((await send({ version: '1.0', headers: [], target: '/health/live' })).status).toBe(200);
    expect((await send({ version: '1.0', headers: [], method: 'POST', body: QUERY })).status).toBe(200);
    await expectBadRequest({ version: '1.0', headers: two });
  });
});

describe('what only Yoga would answer', () => {
  it.each(['/health/live/yoga', '/health', '/x/health/live/yoga'])('is not there: %s', async (target) => {
    const { status, head } = await send({ target });
    expect(status).toBe(404);
    expect(head).not.toContain('x-yoga-id');
  });

  it('does not hide behind the end of a query string', async () => {
    const target = '/graphql?query={__typename}&x=/health/live/yoga';
    const { status, head, body } = await send({ target });
    expect([status, JSON.parse(body)]).toEqual([200, { data: { __typename: 'Query' } }]);
    expect(head).not.toContain('x-yoga-id');
  });
});

describe('a body with a Content-Encoding', () => {
  it.each(['gzip', 'br', 'deflate', 'identity', 'x'])('is rejected with 415: "%s"', async (encoding) => {
    const headers = ['host: localhost', `content-encoding: ${encoding}`];
    const rejected = await send({ method: 'POST', headers, body: QUERY });
    expect([rejected.status, JSON.parse(rejected.body)]).toEqual([415, REJECTION]);
    expect(rejected.head).toMatch(/^accept-encoding: identity$/m);
    expect(
      (await send({ method: 'POST', headers: [...headers, 'origin: http://localhost'], body: QUERY })).status,
    ).toBe(415);
    const login = await send({
      method: 'POST',
      target: '/login',
      headers,
      body: '{"email":"a","password":"b"}',
    });
    expect([login.status, JSON.parse(login.body)]).toEqual([415, REJECTION]);
  });

  it('says no more than 401 to a stranger', async () => {
    const response = await socket.fetch('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: QUERY,
    });
    expect(response.status).toBe(401);
  });
});

describe('the address of a client', () => {
  const limited = useApp({ settings: { RATE_LIMIT_BURST: '3', RATE_LIMIT_PER_SECOND: '0.001' } });
  const limitedSocket = useSocket(limited);

  /** All of 127.0.0.0/8 is this machine: each address is a client of its own. */
  async function from(localAddress: string, target: string): Promise<number> {
    const port = Number(new URL(limitedSocket.origin).port);
    const connection = connect({ port, host: '127.0.0.1', localAddress });
    let result = '';
    connection.setEncoding('utf8').on('data', (text: string) => {
      result += text;
    });
    const head = ['host: localhost', 'connection: close', 'content-type: application/json'];
    connection.write(
      `POST ${target} HTTP/1.1\r\n${head.join('\r\n')}\r\ncontent-length: ${QUERY.length}\r\n\r\n${QUERY}`,
    );
    await once(connection, 'close');
    return Number(result.split(' ')[1]);
  }

  it('is that of its socket on every way in: one that is rejected rejects no other', async () => {
    for (const target of ['/graphql', '/graphql?"']) {
      const [one, other] = target === '/graphql' ? ['127.0.0.2', '127.0.0.3'] : ['127.0.0.4', '127.0.0.5'];
      for (const status of [200, 200, 200, 429]) expect(await from(one, target)).toBe(status);
      expect(await from(other, target)).toBe(200);
    }
    expect(limitedSocket.fastResponses).toBe(5);
  });
});
