import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  askToken,
  authorizeClient,
  exchangeCode,
  oauthClient,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { type Person, person } from '../../support/credentials/session.ts';
import { age } from '../../support/database/aged.ts';

const DAY_MS = 86_400_000;

const app = useApp();
let user: Person;
let client: TestClient;
beforeAll(async () => {
  user = await person(app);
  client = await oauthClient(app, { owner: await app.account() });
});

const authorize = () => authorizeClient(app, client, user);
const refresh = (token: string) =>
  askToken(app, client, { grant_type: 'refresh_token', refresh_token: token });

describe('a code', () => {
  it('is good for 60 seconds', async () => {
    const used = await authorize();
    const late = await authorize();
    await age(app, 'oauth_records', 30_000);
    expect((await exchangeCode(app, client, used)).status).toBe(200);
    await age(app, 'oauth_records', 31_000);
    expect((await exchangeCode(app, client, late)).body.error).toBe('invalid_grant');
  });
});

describe('a refresh token', () => {
  it('is good for 30 days', async () => {
    const { body: young } = await exchangeCode(app, client, await authorize());
    const { body: old } = await exchangeCode(app, client, await authorize());
    await age(app, 'oauth_records', 29 * DAY_MS);
    expect((await refresh(young.refresh_token)).status).toBe(200);
    await age(app, 'oauth_records', DAY_MS);
    expect((await refresh(old.refresh_token)).body.error).toBe('invalid_grant');
  });
});
