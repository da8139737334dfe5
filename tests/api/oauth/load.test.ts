import { connect } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { AppOptions } from '../../../src/app/create-app.ts';
import { useApp } from '../../support/app.ts';
import {
  askToken,
  authorizeClient,
  authorizeUrl,
  basic,
  exchangeCode,
  type Fetching,
  oauthClient,
  PKCE,
  postForm,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { person } from '../../support/credentials/session.ts';
import { watchedDatabase } from '../../support/database/watched.ts';
import { readMetricBy } from '../../support/metrics.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { useSocket } from '../../support/socket.ts';
import { stopTimeInTest } from '../../support/time/timers.ts';

const { challenge } = PKCE();
const GRANT = { grant_type: 'client_credentials' };

/** A client that may use every grant. */
const anyClient = async (app: Parameters<typeof oauthClient>[0]) =>
  oauthClient(app, {
    owner: await app.account(),
    grants: ['authorization_code', 'client_credentials', 'refresh_token'],
  });

const fromAddress = (address: string) => ({ 'x-forwarded-for': address, 'x-forwarded-proto': 'https' });

/** Begins an authorization from an address. */
const begin = ({ fetch }: Fetching, client: TestClient, address: string, signal?: AbortSignal) =>
  fetch(authorizeUrl(client, { challenge }), {
    headers: fromAddress(address),
    ...(signal === undefined ? {} : { signal }),
  });

/** How many calls wait for a slot: users and programs. */
async function waiting({ fetch }: Fetching): Promise<{ user: number; program: number }> {
  const by = await readMetricBy(
    { fetch: ({ url }) => fetch(new URL(url).pathname) },
    'content_graph_oauth_requests_waiting',
    'caller',
  );
  return { user: by.get('user') ?? Number.NaN, program: by.get('program') ?? Number.NaN };
}

/** Statements of an instance, which are held back by name from now on until they are let go. */
function holding(app: Parameters<typeof oauthClient>[0], options: Partial<AppOptions> = {}) {
  const held = new Map<string, { readonly came: () => void; readonly gate: Promise<void> }>();
  const seen = new Map<string, number>();
  const database = watchedDatabase(app.database, async ({ name }) => {
    const label = name.replace(/_[\w-]{22}$/, '');
    seen.set(label, (seen.get(label) ?? 0) + 1);
    const hold = held.get(label);
    hold?.came();
    await hold?.gate;
  });
  return {
    ...secondInstance(app, { ...options, database }),
    count: (label: string) => seen.get(label) ?? 0,
    hold(label: string) {
      const came = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      const letGo = () => {
        held.delete(label);
        gate.resolve();
      };
      onTestFinished(letGo);
      held.set(label, { came: came.resolve, gate: gate.promise });
      return { came: came.promise, letGo };
    },
  };
}

describe('OAuth calls that wait for a slot', () => {
  const app = useApp({
    settings: {
      TRUST_PROXY: '127.0.0.1',
      MAX_QUEUED_OPERATIONS: '1000',
    },
  });
  const socket = useSocket(app);
  let client: TestClient;
  beforeAll(async () => {
    client = await anyClient(app);
  });

  it('are not made once their clients have disconnected, and their slots are free immediately', async () => {
    const instance = holding(app);
    await begin(instance, client, '203.0.113.1');
    const before = instance.count('oauth_record_insert_from');
    const first = instance.hold('oauth_record_insert_from');
    const leave = new AbortController();
    const crowd = Array.from({ length: 200 }, (_, index) =>
      begin(instance, client, `198.51.100.${index % 8}`, leave.signal),
    );
    await first.came;
    leave.abort();
    expect(await waiting(instance)).toEqual({ user: 0, program: 0 });
    first.letGo();
    await Promise.allSettled(crowd);
    expect((await askToken(instance, client, GRANT)).status).toBe(200);
    expect(await waiting(instance)).toEqual({ user: 0, program: 0 });
    expect(instance.count('oauth_record_insert_from') - before).toBeLessThan(100);
  });

  it('are few for connections that are reset with many requests under way', async () => {
    const { hostname, port } = new URL(socket.origin);
    const done = () => app.logged.filter((line) => line.includes('/oauth/authorize')).length;
    const before = done();
    const request = `GET ${authorizeUrl(client, { challenge })} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`;
    const connections = Array.from({ length: 25 }, () => connect(Number(port), hostname));
    for (const connection of connections) {
      connection.on('error', () => undefined);
      connection.write(request.repeat(90));
    }
    await expect.poll(done, { interval: 5 }).toBeGreaterThan(before + 50);
    for (const connection of connections) connection.resetAndDestroy();
    await expect.poll(socket.connections).toBe(0);
    expect((await askToken(app, client, GRANT)).status).toBe(200);
    await expect.poll(() => waiting(app)).toEqual({ user: 0, program: 0 });
    expect(done() - before).toBeLessThan(2_250 / 2);
  });

  it('are answered to programs while many users wait, whose authorizations are none of theirs', async () => {
    const instance = holding(app);
    const { body } = await askToken(instance, client, GRANT);
    await begin(instance, client, '203.0.113.1');
    const first = instance.hold('oauth_record_insert_from');
    const leave = new AbortController();
    const crowd = Array.from({ length: 600 }, (_, index) =>
      begin(instance, client, `198.51.100.${index % 20}`, leave.signal),
    );
    await first.came;
    first.letGo();
    const headers = { ...basic(client), ...fromAddress('203.0.113.1') };
    const responses = await Promise.all([
      postForm(instance, '/oauth/token', GRANT, headers),
      postForm(instance, '/oauth/introspect', { token: body.access_token }, headers),
      postForm(instance, '/oauth/revoke', { token: 'unknown' }, headers),
    ]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await waiting(instance)).user).toBeGreaterThan(0);
    leave.abort();
    await Promise.allSettled(crowd);
  });
});

describe('a client with the right secret', () => {
  const app = useApp({ settings: { TRUST_PROXY: '127.0.0.1' } });

  it('does not wait for the guesses of addresses that have asked for nothing before', async () => {
    const [client, guessed] = [await anyClient(app), await anyClient(app)];
    /** Of the calls, whose client was looked up: in the order in which they began. */
    const begun: unknown[] = [];
    const database = watchedDatabase(app.database, ({ name }, values) => {
      if (name.startsWith('oauth_client_')) begun.push(values[0]);
    });
    const instance = secondInstance(app, { database });
    const ask = (asking: TestClient, address: string) =>
      postForm(instance, '/oauth/token', GRANT, { ...basic(asking), ...fromAddress(address) });
    for (let time = 0; time < 20; time += 1) await ask(client, '203.0.113.1');
    begun.length = 0;
    const crowd = Array.from({ length: 200 }, (_, index) =>
      ask({ ...guessed, secret: 'a guess' }, `198.51.100.${index % 8}`),
    );
    expect((await ask(client, '203.0.113.1')).status).toBe(200);
    const statuses = (await Promise.all(crowd)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect(begun.filter((id) => id === guessed.id).length).toBeGreaterThan(150);
    // One of each IP address, and those that had a slot before it was in the queue.
    expect(begun.indexOf(client.id)).toBeLessThan(80);
  });
});

describe('a full queue of OAuth calls', () => {
  const app = useApp({ settings: { TRUST_PROXY: '127.0.0.1', MAX_QUEUED_OPERATIONS: '4' } });
  let client: TestClient;
  beforeAll(async () => {
    client = await anyClient(app);
    await begin(app, client, '203.0.113.1');
  });
  const ask = (address: string) =>
    postForm(app, '/oauth/token', GRANT, { ...basic(client), ...fromAddress(address) });

  it.each([
    ['users', (address: string) => begin(app, client, address), 303],
    ['programs', ask, 200],
  ])('of %s rejects who has most of it with 429, and lets others in', async (_whose, send, good) => {
    const crowd = Array.from({ length: 40 }, () => send('198.51.100.1'));
    const others = ['198.51.100.2', '198.51.100.3'].map((address) => send(address));
    for (const { status } of await Promise.all(others)) expect(status).toBe(good);
    const responses = await Promise.all(crowd);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([good, 429]));
    const rejected = responses.find(({ status }) => status === 429);
    expect(rejected?.headers.get('retry-after')).toBe('1');
  });

  it('says 503 only where everybody in it has one entry', async () => {
    const responses = await Promise.all(Array.from({ length: 40 }, (_, index) => ask(`198.51.100.${index}`)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 503]));
    const rejected = responses.find(({ status }) => status === 503);
    expect(rejected?.body.error).toBe('temporarily_unavailable');
    expect(rejected?.headers.get('retry-after')).toBe('1');
  });
});

describe('an OAuth request past OPERATION_TIMEOUT_MS', () => {
  const app = useApp();
  const LIMIT_MS = 500;
  let client: TestClient;
  beforeAll(async () => {
    client = await anyClient(app);
    await askToken(app, client, GRANT);
  });

  const limited = () => holding(app, { config: { ...app.config, operationTimeoutMs: LIMIT_MS } });

  it('is 504 in OAuth’s form, or on a page', async () => {
    const instance = limited();
    instance.hold('oauth_client');
    const page = instance.fetch(authorizeUrl(client, { challenge }));
    const responses = await Promise.all(
      ['/oauth/token', '/oauth/introspect', '/oauth/revoke'].map((path) =>
        postForm(instance, path, { ...GRANT, token: 'unknown' }, basic(client)),
      ),
    );
    for (const { status, body } of responses)
      expect([status, body.error]).toEqual([504, 'temporarily_unavailable']);
    const { status, headers } = await page;
    expect([status, headers.get('location')]).toEqual([504, null]);
    expect(headers.get('content-type')).toContain('text/html');
  });

  it('has used no code up; one that has begun to use it goes on and gives its tokens', async () => {
    const passTime = stopTimeInTest();
    const instance = limited();
    const authorized = await authorizeClient(instance, client, await person(app));
    const find = instance.hold('oauth_record');
    const late = exchangeCode(instance, client, authorized);
    await find.came;
    passTime(LIMIT_MS);
    expect((await late).status).toBe(504);
    find.letGo();
    expect(instance.count('oauth_record_consume')).toBe(0);
    const use = instance.hold('oauth_record_consume');
    const used = exchangeCode(instance, client, authorized);
    await use.came;
    const other = instance.hold('oauth_client');
    const asked = askToken(instance, client, GRANT);
    await other.came;
    passTime(LIMIT_MS);
    expect((await asked).status).toBe(504);
    other.letGo();
    use.letGo();
    const { status, body } = await used;
    expect([status, typeof body.refresh_token]).toEqual([200, 'string']);
  });
});
