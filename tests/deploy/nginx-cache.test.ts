import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readShippedConfiguration } from '../../scripts/cluster/nginx.ts';
import { freePort } from '../../scripts/cluster/processes.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { visitor } from '../support/credentials/session.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { readEncoded } from '../support/encoded.ts';
import { graphqlPost } from '../support/graphql.ts';
import { startNginx } from '../support/nginx.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { seededRandom } from '../support/random.ts';
import { useSocket } from '../support/socket.ts';
import { issueToken } from '../support/streams/stream-token.ts';
import { published } from '../support/trusted-documents.ts';
import {
  type Asked,
  type Asker,
  addressOf,
  type Choices,
  conditionOf,
  differences,
  drawRequest,
  nameOf,
  type Reply,
} from './support/cached-requests.ts';
import { secureClient } from './support/secure-client.ts';

/** In each of two configurations. */
const REQUESTS = 10_000;
const CONNECTIONS = 12;
const ACCOUNTS = 20;
/** So often somebody without anything asks for each time that somebody with a bad key does. */
const NOBODIES = 10;
const HOST = 'localhost';
const ORIGINS = [
  'https://app.example.com',
  'https://www.example.com',
  'https://elsewhere.example.org',
  'null',
];
const SETTINGS = {
  ANONYMOUS_READ: 'true',
  // Answers grow old and are asked for again during the test.
  PUBLIC_CACHE_SECONDS: '2',
  CORS_ORIGINS: ORIGINS.slice(0, 2).join(', '),
  TRUST_PROXY: '127.0.0.1',
};
/** What nginx says of itself. */
const FORWARDED = { host: HOST, 'x-forwarded-proto': 'https', 'x-forwarded-for': '127.0.0.1' };

const [first, second, withoutPublic] = [{} as TestApp, {} as TestApp, {} as TestApp];
const stops: (() => Promise<void>)[] = [];
beforeAll(async () => {
  const database = await createTestDatabase();
  const borrowed = { ...database, drop: async () => {} };
  const start = async (app: TestApp, on: typeof database, settings: Readonly<Record<string, string>>) => {
    const { stop, ...started } = await startApp(on, { settings });
    Object.assign(app, started);
    stops.unshift(stop);
  };
  await start(first, database, SETTINGS);
  await start(second, borrowed, SETTINGS);
  await start(withoutPublic, borrowed, { ...SETTINGS, PUBLIC_CACHE_SECONDS: '0' });
});
afterAll(async () => {
  for (const stop of stops) await stop();
});
const sockets = [useSocket(first), useSocket(second)];
const socketWithoutPublic = useSocket(withoutPublic);

/** Accounts with their kinds of credentials, those who have none, and what all of them ask. */
async function everybody(): Promise<Choices> {
  const askers: Asker[] = [];
  for (let at = 0; at < ACCOUNTS; at += 1) {
    const role = at % 5 === 0 ? 'admin' : 'member';
    const { key, cookie } = await visitor(first, { role, name: `Nobody else is number ${at}` });
    const authorization = `Bearer ${key}`;
    const known = (name: string, headers: Record<string, string>, parameters = {}) =>
      askers.push({ name: `${name} ${at}`, headers, parameters });
    known('key', { authorization });
    known('key beside a cookie', { authorization, cookie: 'theme=dark' });
    known('key in the address', {}, { api_key: key });
    known('session', { cookie });
    known('session beside a cookie', { cookie: `theme=dark; ${cookie}` });
    if (at < 3) {
      const title = `Post ${at}`;
      const body = 'A text that repeats itself. '.repeat(at * 40 + 2);
      const create =
        'mutation ($title: String!, $body: String!) { createPost(title: $title, body: $body) { id } }';
      expect((await first.gql(create, { key, variables: { title, body } })).errors).toBeUndefined();
    }
  }
  const strangers: Asker[] = [
    ...Array.from({ length: NOBODIES }, () => ({ name: 'nobody', headers: {}, parameters: {} })),
    { name: 'a cookie', headers: { cookie: 'theme=dark' }, parameters: {} },
    { name: 'a bad key', headers: { authorization: 'Bearer nonsense' }, parameters: {} },
    { name: 'another scheme', headers: { authorization: 'Basic eDp5' }, parameters: {} },
    { name: 'no session', headers: { cookie: `session_id=${'x'.repeat(43)}` }, parameters: {} },
    { name: 'a bad key in the address', headers: {}, parameters: { api_key: 'nonsense' } },
    { name: 'a bad token', headers: {}, parameters: { stream_token: 'nonsense' } },
  ];
  const { id } = await first.account();
  const texts = [
    '{ posts(limit: 10) { id title body author { name } } }',
    '{ posts(limit: 1) { title } }',
    '{ viewer { id name email } }',
    `{ posts(limit: 1) { title } node(id: "${id}") { id } }`,
    '{ __typename }',
  ];
  const ids: string[] = [];
  for (const text of texts) ids.push(await published(first, text));
  const paged = await published(first, 'query ($n: Int!) { posts(limit: $n) { title } }');
  const operations = [
    ...ids.map((documentId) => ({ documentId })),
    ...[1, 2, 'x', 1_000].map((n) => ({ documentId: paged, variables: JSON.stringify({ n }) })),
    { documentId: paged },
    { documentId: 'nothing' },
    { query: texts[0] ?? '' },
    { query: '{ nothing }' },
    { extensions: JSON.stringify({ persistedQuery: { version: 1, sha256Hash: ids[0] } }) },
  ];
  return { askers, strangers, operations, origins: ORIGINS };
}

/** nginx as it is shipped, or with some change. */
async function cached(change: (configuration: string) => string, before = sockets) {
  const port = await freePort();
  const instances = before.map(({ origin }) => new URL(origin).host);
  const folder = await temporaryFolder();
  const nginx = await startNginx(change(readShippedConfiguration({ port, instances })), { folder, port });
  return { nginx, ...secureClient(port, nginx.certificate, CONNECTIONS) };
}

/** What the service itself gives a caller, asked once for each. */
function directly() {
  const known = new Map<string, Promise<Reply>>();
  const ask = async (asked: Asked): Promise<Reply> => {
    const headers = { ...FORWARDED, ...asked.headers, ...asked.asker.headers, 'x-request-id': 'whole' };
    const response = await first.app.fetch(new Request(`http://${HOST}${addressOf(asked)}`, { headers }));
    const { status, text } = await readEncoded(response);
    return { status, headers: Object.fromEntries(response.headers), body: text };
  };
  return (asked: Asked): Promise<Reply> => {
    const name = nameOf(asked);
    const reply = known.get(name) ?? ask(asked);
    known.set(name, reply);
    return reply;
  };
}

describe.each([
  ['as it is shipped', (configuration: string) => configuration, false],
  [
    'with all requests through its cache',
    (configuration: string) => configuration.replace('default off;', 'default public_answers;'),
    true,
  ],
])('the cache of deploy/nginx before two instances, %s', (what, change, all) => {
  it('gives everybody what the service gives them', { timeout: 1_800_000 }, async () => {
    const choices = await everybody();
    const { nginx, ask } = await cached(change);
    const whole = directly();
    const random = seededRandom(`the cache of nginx, ${what}`);
    const found: string[] = [];
    let sent = 0;
    const one = async (at: number) => {
      const sending = drawRequest(random, choices);
      const expected = await whole(sending);
      const condition = conditionOf(sending, expected);
      const id = `request-${at}`;
      const got = await ask({
        path: addressOf(sending),
        method: sending.head ? 'HEAD' : 'GET',
        headers: {
          host: HOST,
          'x-request-id': id,
          ...sending.headers,
          ...sending.asker.headers,
          ...(condition === undefined ? {} : { 'if-none-match': condition }),
        },
      });
      const { authorization, cookie } = sending.asker.headers;
      const told = [authorization, cookie, ...Object.values(sending.asker.parameters)];
      const isLookedUp = all || [...told, sending.parameters.query].every((it) => it === undefined);
      for (const difference of differences(sending, expected, got, id, isLookedUp))
        found.push(`${nameOf(sending)} ${sending.known} ${sending.head ? 'HEAD' : 'GET'}: ${difference}`);
    };
    const worker = async () => {
      while (sent < REQUESTS && found.length < 5) {
        sent += 1;
        await one(sent);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, worker));
    expect(found).toEqual([]);
    // It did keep answers, gave them out, and asked whether the old ones were still so.
    const logs = await nginx.logs();
    const count = (...results: readonly string[]) =>
      results.reduce((sum, result) => sum + logs.split(`cache ${result} `).length - 1, 0);
    expect(count('HIT')).toBeGreaterThan(REQUESTS / 100);
    expect(count('STALE', 'UPDATING', 'REVALIDATED', 'EXPIRED')).toBeGreaterThan(0);
  });

  it('opens event streams at once, also two at the same address', async () => {
    const { key } = await first.account();
    const documentId = await published(first, 'subscription { postCreated { title } }');
    const token = await issueToken(first, { authorization: `Bearer ${key}` });
    const { nginx, open } = await cached(change);
    const ways: readonly (readonly [string, Record<string, string>])[] = [
      [`/graphql?stream_token=${token}`, {}],
      [`/graphql?documentId=${documentId}`, { authorization: `Bearer ${key}` }],
      [`/graphql?${new URLSearchParams({ documentId, api_key: key })}`, {}],
    ];
    for (const [path, headers] of ways) {
      const streams = await Promise.all([open(path, headers), open(path, headers)]);
      for (const stream of streams) expect(stream).toMatch(/^retry: /);
    }
    expect(await nginx.logs()).not.toContain('cache HIT');
  });

  it('keeps nothing unless the service lets it', async () => {
    const documentId = await published(first, '{ posts(limit: 1) { title } }');
    const { nginx, ask } = await cached(change, [socketWithoutPublic]);
    const times = 5;
    for (let time = 0; time < times; time += 1) {
      const path = `/graphql?documentId=${documentId}`;
      const { status, headers } = await ask({ path, method: 'GET', headers: { host: HOST } });
      expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
    }
    await expect.poll(async () => (await nginx.logs()).split(' cache MISS ').length - 1).toBe(times);
  });

  it('gives out what has changed once the response is old', async () => {
    const { key } = await first.account();
    const documentId = await published(first, '{ posts(limit: 1) { title } }');
    const { ask } = await cached(change);
    const newest = async () => {
      const { body } = await ask({
        path: `/graphql?documentId=${documentId}`,
        method: 'GET',
        headers: { host: HOST },
      });
      return JSON.parse(body).data.posts[0]?.title;
    };
    await newest();
    await second.fetch(
      '/graphql',
      graphqlPost('mutation { createPost(title: "Later", body: "b") { id } }', { key }),
    );
    await expect.poll(newest).toBe('Later');
  });
});
