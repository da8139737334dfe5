import { decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import {
  createSigningKey,
  createSigningKeyEncryptor,
  listSigningKeys,
  oldSigningKeys,
  revokeSigningKey,
  rotateSigningKey,
} from '../../../src/features/oauth/signing-keys.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import {
  askToken,
  type Fetching,
  oauthClient,
  statusWith,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { age } from '../../support/database/aged.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** The service, a client, and a clock of its own that can be put forward. */
function useKeys() {
  let aheadMs = 0;
  const clock = clockOf(() => Date.now() + aheadMs);
  const app = useApp({ clock });
  return {
    app,
    clock,
    /** Lets time pass, for the service and for the database. */
    async advance(ms: number) {
      aheadMs += ms;
      await age(app, 'oauth_signing_keys', ms);
    },
    encryptor: () => createSigningKeyEncryptor(app.config),
    rotate: () => rotateSigningKey(app.database, createSigningKeyEncryptor(app.config)),
    client: async () => oauthClient(app, { owner: await app.account(), grants: ['client_credentials'] }),
  };
}

async function tokenFrom(on: Fetching, client: TestClient): Promise<string> {
  const { status, body } = await askToken(on, client, { grant_type: 'client_credentials' });
  if (status !== 200) throw new Error(`no token: ${JSON.stringify(body)}`);
  return body.access_token;
}

const kidOf = (token: string) => decodeProtectedHeader(token).kid;
async function published(on: Fetching): Promise<string[]> {
  const { keys } = (await (await on.fetch('/oauth/jwks')).json()) as { keys: { kid: string }[] };
  return keys.map(({ kid }) => kid);
}

describe('a signing key that takes over', () => {
  const { app, clock, advance, rotate, client: newClient } = useKeys();

  it('is published before it signs; the one before goes when its last token has expired', async () => {
    const client = await newClient();
    const before = await tokenFrom(app, client);
    const { id } = await rotate();
    await advance(SECOND);
    expect(await published(app)).toEqual([kidOf(before), id]);
    expect(kidOf(await tokenFrom(app, client))).toBe(kidOf(before));
    await advance(10 * SECOND);
    const after = await tokenFrom(app, client);
    expect(kidOf(after)).toBe(id);
    for (const token of [before, after]) expect(await statusWith(app, token)).toBe(200);
    await age(app, 'oauth_signing_keys', 14 * MINUTE);
    expect(await oldSigningKeys(true).run(app.database)).toBe(0);
    await age(app, 'oauth_signing_keys', 4 * MINUTE);
    expect(await oldSigningKeys(true).run(app.database)).toBe(1);
    await advance(SECOND);
    expect(await published(app)).toEqual([id]);
  });

  it('rejects no live token under load, on any instance', async () => {
    const client = await newClient();
    const instances = [app, secondInstance(app, { clock }), secondInstance(app, { clock })] as const;
    const tokens: string[] = [];
    const statuses: number[] = [];
    for (let round = 0; round < 30; round += 1) {
      if (round === 5 || round === 12) await rotate();
      const fresh = await Promise.all(instances.map((instance) => tokenFrom(instance, client)));
      tokens.push(...fresh);
      const asked = [...fresh, ...tokens.slice(0, 3)];
      statuses.push(
        ...(await Promise.all(
          asked.flatMap((token) => instances.map((instance) => statusWith(instance, token))),
        )),
      );
      await advance(SECOND);
    }
    expect(new Set(tokens.map(kidOf)).size).toBe(3);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});

describe('the signing keys', () => {
  const { app, clock, advance, encryptor, client: newClient } = useKeys();

  it('are made once, and found again after a restart', async () => {
    const client = await newClient();
    const token = await tokenFrom(app, client);
    const again = secondInstance(app, { clock });
    expect(await statusWith(again, token)).toBe(200);
    expect(kidOf(await tokenFrom(again, client))).toBe(kidOf(token));
  });

  it('made by two at the same moment are both good', async () => {
    const client = await newClient();
    const token = await tokenFrom(app, client);
    const { id } = await createSigningKey(app.database, encryptor(), 0);
    const other = secondInstance(app, { clock });
    await advance(SECOND);
    expect(kidOf(await tokenFrom(other, client))).toBe(id);
    for (const on of [app, other]) expect(await statusWith(on, token)).toBe(200);
    expect(await statusWith(app, await tokenFrom(other, client))).toBe(200);
  });

  it('under a secret that was changed sign no more, and their tokens stay good', async () => {
    const client = await newClient();
    const token = await tokenFrom(app, client);
    const config = { ...app.config, secretKey: 'an0ther-s3cret-than-the-one-before-it' };
    const changed: Pick<TestApp, 'fetch'> = secondInstance(app, { clock, config });
    const next = await tokenFrom(changed, client);
    expect(kidOf(next)).not.toBe(kidOf(token));
    for (const on of [app, changed])
      for (const each of [token, next]) expect(await statusWith(on, each)).toBe(200);
    expect(app.logged.join('')).toContain('oauth.signing_keys_replaced');
    const opened = await listSigningKeys(app.database, encryptor());
    expect(opened.find(({ id }) => id === kidOf(next))?.usable).toBe(false);
  });

  it('that are dropped take their tokens with them, within a minute', async () => {
    const client = await newClient();
    const token = await tokenFrom(app, client);
    expect(await statusWith(app, token)).toBe(200);
    expect(await revokeSigningKey(app.database, kidOf(token) ?? '')).toBe(true);
    expect(await revokeSigningKey(app.database, kidOf(token) ?? '')).toBe(false);
    await advance(MINUTE);
    expect(await statusWith(app, token)).toBe(401);
    expect(await statusWith(app, await tokenFrom(app, client))).toBe(200);
  });

  it('under a secret that was changed go after a day in production, and after a month elsewhere', async () => {
    const config = { ...app.config, secretKey: 'y3t-an0ther-s3cret-than-the-ones-before' };
    const changed = secondInstance(app, { clock, config });
    const client = await newClient();
    const before = kidOf(await tokenFrom(app, client)) ?? '';
    await advance(SECOND);
    const after = kidOf(await tokenFrom(changed, client)) ?? '';
    const left = async () => (await listSigningKeys(app.database, encryptor())).map(({ id }) => id);
    const hour = 60 * MINUTE;
    await age(app, 'oauth_signing_keys', 23 * hour);
    await oldSigningKeys(true).run(app.database);
    await age(app, 'oauth_signing_keys', 28 * 24 * hour);
    await oldSigningKeys(false).run(app.database);
    expect(await left()).toEqual(expect.arrayContaining([before, after]));
    await oldSigningKeys(true).run(app.database);
    expect(await left()).not.toContain(before);
    expect(await left()).toContain(after);
  });
});
