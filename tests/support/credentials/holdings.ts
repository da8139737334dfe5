import { expect } from 'vitest';
import type { Role } from '../../../src/auth/scopes.ts';
import type { TestApp } from '../app.ts';
import { createPost } from '../content.ts';
import { type EventStream, readEventStream } from '../streams/event-stream.ts';
import { issueToken, openByToken, TITLES } from '../streams/stream-token.ts';
import { askToken, authorizeClient, exchangeCode, oauthClient, type TestClient } from './oauth.ts';
import { PASSWORD, type Visitor, visitor } from './session.ts';
import { signToken } from './tokens.ts';

export type Instance = Pick<TestApp, 'fetch'>;

/** Everything that an account can be used with. */
export const CREDENTIALS = [
  'session',
  'key',
  'JWT',
  'stream token of the session',
  'stream token of the key',
  'OAuth grant',
  'own OAuth client',
] as const;
export type Credential = (typeof CREDENTIALS)[number];

/** An account that holds one credential of each kind, and has a stream open with each at two instances. */
export interface Holder extends Visitor {
  /** The status of a request with a credential at an instance. */
  status(credential: Credential, instance: Instance): Promise<number>;
  /** The streams, one at each instance. */
  readonly streams: Readonly<Record<Credential, readonly EventStream[]>>;
  /** The client of the grant, its access and refresh token. */
  readonly granted: { readonly client: TestClient; readonly access: string; readonly refresh: string };
  readonly ownClient: TestClient;
  /** The status of an attempt to refresh the tokens of the grant. */
  refresh(): Promise<number>;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const at = (query: string) => `/graphql?query=${encodeURIComponent(query)}`;

/** Signs in, issues and subscribes everything. The app needs JWT_SECRET. */
export async function holder(
  app: TestApp,
  instances: readonly Instance[],
  role: Role = 'member',
): Promise<Holder> {
  const who = await visitor(app, { role, scopes: ['posts:read', 'posts:write', 'users:read'] });
  const session = { cookie: who.cookie };
  const own = await oauthClient(app, { owner: { id: who.id, role }, grants: ['client_credentials'] });
  const reader = await oauthClient(app, { owner: await app.account() });
  const authorized = await authorizeClient(app, reader, { email: who.email, password: PASSWORD });
  const { body: granted } = await exchangeCode(app, reader, authorized);
  const { body: owned } = await askToken(app, own, { grant_type: 'client_credentials' });
  const iat = Math.floor(Date.now() / 1000);
  const headers: Partial<Record<Credential, Record<string, string>>> = {
    session,
    key: bearer(who.key),
    JWT: bearer(await signToken(who.id, { claims: { iat, jti: `jti of ${who.id}` } })),
    'OAuth grant': bearer(granted.access_token),
    'own OAuth client': bearer(owned.access_token),
  };
  const tokens: Partial<Record<Credential, string>> = {
    'stream token of the session': await issueToken(app, session),
    'stream token of the key': await issueToken(app, bearer(who.key)),
  };

  const open = async (credential: Credential, instance: Instance): Promise<EventStream> => {
    const token = tokens[credential];
    if (token !== undefined) return (await openByToken(instance, token)).stream;
    const response = await instance.fetch(at(TITLES), {
      headers: { accept: 'text/event-stream', ...headers[credential] },
    });
    expect(response.status, credential).toBe(200);
    const stream = readEventStream(response);
    await stream.block();
    return stream;
  };
  const opened = await Promise.all(
    CREDENTIALS.map(async (credential) => [
      credential,
      await Promise.all(instances.map((instance) => open(credential, instance))),
    ]),
  );
  return {
    ...who,
    granted: { client: reader, access: granted.access_token, refresh: granted.refresh_token },
    ownClient: own,
    streams: Object.fromEntries(opened),
    async status(credential, instance) {
      const token = tokens[credential];
      const stop = new AbortController();
      const response =
        token === undefined
          ? await instance.fetch(at('{ viewer { id } }'), { headers: headers[credential] ?? {} })
          : await instance.fetch(`/graphql?stream_token=${token}`, {
              headers: { accept: 'text/event-stream' },
              signal: stop.signal,
            });
      if (response.headers.get('content-type')?.startsWith('text/event-stream'))
        await response.body?.cancel();
      return response.status;
    },
    async refresh() {
      const fields = { grant_type: 'refresh_token', refresh_token: granted.refresh_token };
      return (await askToken(app, reader, fields)).status;
    },
  };
}

/** The last event of a stream whose credentials have ended. */
export async function expectEnded(stream: EventStream): Promise<void> {
  const { errors } = await stream.next();
  expect(errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
  expect(await stream.event()).toMatchObject({ event: 'complete' });
}

/** Those that are named have ended on all instances; streams of the others go on. */
export async function expectRevoked(
  app: TestApp,
  who: Holder,
  instances: readonly Instance[],
  ended: readonly Credential[],
  writerKey: string,
): Promise<void> {
  for (const credential of ended) {
    for (const stream of who.streams[credential]) await expectEnded(stream);
    for (const instance of instances)
      await expect.poll(() => who.status(credential, instance), { message: credential }).toBe(401);
  }
  const id = await createPost(app, writerKey);
  for (const credential of CREDENTIALS.filter((one) => !ended.includes(one))) {
    for (const stream of who.streams[credential])
      expect((await stream.next()).data.postCreated.id, credential).toBe(id);
    for (const instance of instances) expect(await who.status(credential, instance), credential).toBe(200);
  }
}
