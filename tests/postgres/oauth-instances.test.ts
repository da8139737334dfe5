import { decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { createSigningKeyEncryptor, rotateSigningKey } from '../../src/features/oauth/signing-keys.ts';
import { useApp } from '../support/app.ts';
import {
  askToken,
  authorizeClient,
  Browser,
  basic,
  exchangeCode,
  type Fetching,
  oauthClient,
  postForm,
  statusWith,
} from '../support/credentials/oauth.ts';
import { person } from '../support/credentials/session.ts';
import { age } from '../support/database/aged.ts';
import { instanceOnOwnPool } from '../support/second-instance.ts';
import { clockOf } from '../support/time/stepped-clock.ts';

describe('OAuth at two instances on one PostgreSQL', () => {
  const app = useApp();

  /** A client, a user, and two instances that share nothing but the database. */
  async function setUp() {
    const user = await person(app);
    const client = await oauthClient(app, {
      owner: await app.account(),
      grants: ['authorization_code', 'refresh_token', 'client_credentials'],
    });
    return { user, client, one: app, two: await instanceOnOwnPool(app) };
  }

  it('is one: what begins at one goes on at the other', async () => {
    const { user, client, one, two } = await setUp();
    let turn = false;
    // Each request of the browser reaches the other instance than the one before.
    const either: Fetching = {
      fetch(path, init) {
        turn = !turn;
        return (turn ? one : two).fetch(path, init);
      },
    };
    const got = await authorizeClient(either, client, user, { browser: new Browser(either) });
    const { body } = await exchangeCode(two, client, got);
    for (const instance of [one, two]) expect(await statusWith(instance, body.access_token)).toBe(200);
    const { body: next } = await askToken(one, client, {
      grant_type: 'refresh_token',
      refresh_token: body.refresh_token,
    });
    const asked = await postForm(two, '/oauth/introspect', { token: next.access_token }, basic(client));
    expect(asked.body.active).toBe(true);
    await postForm(two, '/oauth/revoke', { token: next.access_token }, basic(client));
    const revokedMs = performance.now();
    // Nothing that is sent a second later is taken, however long this machine takes over what is sent before.
    for (;;) {
      const sentMs = performance.now();
      const status = await statusWith(one, next.access_token);
      if (status === 401) break;
      expect(status).toBe(200);
      expect(sentMs - revokedMs).toBeLessThan(1_000);
    }
  });

  it('gives a code’s and a refresh token’s worth once, wherever they are sent at once', async () => {
    const { user, client, one, two } = await setUp();
    for (let round = 0; round < 5; round += 1) {
      const got = await authorizeClient(one, client, user);
      const codes = await Promise.all([one, two, one, two].map((on) => exchangeCode(on, client, got)));
      expect(codes.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
      const { body } = await exchangeCode(one, client, await authorizeClient(one, client, user));
      const form = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
      const refreshed = await Promise.all([one, two, one, two].map((on) => askToken(on, client, form)));
      const good = refreshed.filter(({ status }) => status === 200);
      expect(good.length).toBeLessThanOrEqual(1);
      for (const { body: won } of good) {
        const again = { grant_type: 'refresh_token', refresh_token: won.refresh_token };
        expect((await askToken(two, client, again)).status).toBe(400);
      }
    }
  });
});

/** The first key is made when it is needed: on an empty database by all who start at once. */
describe('two instances that begin at the same moment', () => {
  let aheadMs = 0;
  const clock = clockOf(() => Date.now() + aheadMs);
  const app = useApp({ clock });

  it('share a key soon, and reject no token before, nor while keys take over under load', async () => {
    const owner = await app.account();
    const client = await oauthClient(app, { owner, grants: ['client_credentials'] });
    const own = () => instanceOnOwnPool(app, app.config, { clock });
    const instances = [await own(), await own()];
    const encryptor = createSigningKeyEncryptor(app.config);
    const kept: string[] = [];
    const statuses = new Set<number>();
    /** Tokens of all instances, as many at once, each used everywhere with some of the older ones. */
    async function load(): Promise<Set<string | undefined>> {
      const asked = [...instances, ...instances, ...instances].map((on) =>
        askToken(on, client, { grant_type: 'client_credentials' }),
      );
      const tokens = (await Promise.all(asked)).map(({ body }) => String(body.access_token));
      const used = [...tokens, ...kept.slice(0, 2), ...kept.slice(-2)];
      const responses = instances.flatMap((on) => used.map((token) => statusWith(on, token)));
      for (const status of await Promise.all(responses)) statuses.add(status);
      kept.push(...tokens);
      return new Set(tokens.map((token) => decodeProtectedHeader(token).kid));
    }
    const made = await load();
    expect(made.size).toBeLessThanOrEqual(instances.length);
    aheadMs += 1_000;
    expect((await load()).size).toBe(1);
    for (let second = 0; second < 30; second += 1) {
      if (second === 3 || second === 8) await rotateSigningKey(app.database, encryptor);
      await load();
      aheadMs += 1_000;
      await age(app, 'oauth_signing_keys', 1_000);
    }
    const kids = new Set(kept.map((token) => decodeProtectedHeader(token).kid));
    expect(kids.size).toBe(made.size + 2);
    expect(statuses).toEqual(new Set([200]));
  });
});
