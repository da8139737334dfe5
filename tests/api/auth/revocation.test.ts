import { describe, expect, it } from 'vitest';
import { API_KEY, revokeApiKey } from '../../../src/auth/api-keys.ts';
import { revokeToken } from '../../../src/auth/jwt.ts';
import { disableAccount } from '../../../src/auth/revocation.ts';
import { sessionRevocation } from '../../../src/auth/sessions.ts';
import { newId } from '../../../src/platform/ids.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { type Visitor, visitor } from '../../support/credentials/session.ts';
import { JWT_SECRET, signToken } from '../../support/credentials/tokens.ts';
import { isOfRequest, watchedDatabase } from '../../support/database/watched.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

/** A clock that can be put forward: what is cached for less than a second is out of date then. */
let aheadMs = 0;
const clock = clockOf(() => Date.now() + aheadMs);
const aSecondLater = () => {
  aheadMs += 1_000;
};
const app = useApp({ settings: { JWT_SECRET, CREDENTIAL_RECHECK_MS: '50' }, clock });

/** Each kind of credential: what a client sends, and how it is ended. */
interface Kind {
  present(who: Visitor): Promise<Record<string, string>>;
  revoke(who: Visitor): Promise<unknown>;
}

const jtiOf = (who: Visitor) => `jti of ${who.id}`;
const KINDS: Record<string, Kind> = {
  'an API key': {
    present: async ({ key }) => ({ authorization: `Bearer ${key}` }),
    async revoke({ id }) {
      const { prisma } = app;
      const key = await prisma.apiKey.findFirstOrThrow({ where: { userId: id } });
      return revokeApiKey(app.database, key.id);
    },
  },
  'a session': {
    present: async ({ cookie }) => ({ cookie }),
    revoke: ({ id }) => app.database.query(sessionRevocation.all, [[id]]),
  },
  'a JWT': {
    present: async (who) => ({
      authorization: `Bearer ${await signToken(who.id, { claims: { jti: jtiOf(who) } })}`,
    }),
    revoke: (who) => revokeToken(app.database, { jti: jtiOf(who) }),
  },
};

const get = (on: Pick<TestApp, 'fetch'>, headers: Record<string, string>) =>
  on.fetch(`/graphql?query=${encodeURIComponent('{ viewer { id } }')}`, { headers });

const subscribe = (headers: Record<string, string>) =>
  app.fetch(`/graphql?query=${encodeURIComponent('subscription { postCreated { id } }')}`, {
    headers: { accept: 'text/event-stream', ...headers },
  });

describe.each(Object.entries(KINDS))('%s', (name, { present, revoke }) => {
  it('that is revoked is rejected on every instance within a second', async () => {
    const who = await visitor(app);
    const headers = await present(who);
    const other = secondInstance(app, { clock });
    expect([(await get(app, headers)).status, (await get(other, headers)).status]).toEqual([200, 200]);
    await revoke(who);
    // A session at once: nothing of it is cached.
    if (name === 'a session') expect((await get(other, headers)).status).toBe(401);
    aSecondLater();
    for (const instance of [app, other]) expect((await get(instance, headers)).status).toBe(401);
  });

  it.each([
    ['revoked', revoke],
    ['dead with its account', ({ id }: Visitor) => disableAccount(app.database, id)],
  ])('ends its event streams when it is %s, with one last UNAUTHENTICATED', async (_how, end) => {
    const who = await visitor(app);
    const writer = await app.account();
    const response = await subscribe(await present(who));
    expect(response.status).toBe(200);
    const stream = readEventStream(response);
    const id = await createPost(app, writer.key);
    expect((await stream.next()).data.postCreated.id).toBe(id);
    await end(who);
    const last = await stream.next();
    expect(last.errors.map((e: { extensions: { code: string } }) => e.extensions.code)).toEqual([
      'UNAUTHENTICATED',
    ]);
    expect(last.data ?? null).toBeNull();
    expect((await stream.event())?.event).toBe('complete');
    expect(await stream.block()).toBeUndefined();
  });
});

describe('an event stream', () => {
  it('ends with UNAUTHENTICATED when its token expires', async () => {
    const { id } = await app.account();
    const exp = Math.ceil(clock.now() / 1000) + 300;
    const token = await signToken(id, { claims: { exp } });
    const stream = readEventStream(await subscribe({ authorization: `Bearer ${token}` }));
    const writer = await app.account();
    const postId = await createPost(app, writer.key);
    expect((await stream.next()).data.postCreated.id).toBe(postId);
    aheadMs += 301_000;
    const { errors } = await stream.next();
    expect(errors[0].extensions.code).toBe('UNAUTHENTICATED');
    expect((await stream.event())?.event).toBe('complete');
  });
});

describe('an API key with a wrong checksum', () => {
  it('costs no look-up in the database', async () => {
    let queries = 0;
    const counted = watchedDatabase(app.database, (statement) => {
      if (isOfRequest(statement)) queries += 1;
    });
    const instance = secondInstance(app, { database: counted });
    const ask = async (key: string) => {
      queries = 0;
      const { status } = await get(instance, { authorization: `Bearer ${key}` });
      return { status, queries };
    };
    const { key } = await app.account();
    for (const at of [-1, -8, -20]) {
      const other = key.at(at) === '0' ? '1' : '0';
      const mistyped = key.slice(0, at) + other + key.slice(key.length + at + 1);
      expect(await ask(mistyped)).toEqual({ status: 401, queries: 0 });
    }
    expect(await ask(API_KEY.generate())).toEqual({ status: 401, queries: 1 });
    expect(await ask(`session ${newId()}`)).toEqual({ status: 401, queries: 0 });
    const forged = `${(await signToken(newId())).slice(0, -4)}AAAA`;
    expect(await ask(forged)).toEqual({ status: 401, queries: 0 });
  });
});
