import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { statement } from '../../../src/database/statement.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { askToken, basic, oauthClient, postForm, statusWith } from '../../support/credentials/oauth.ts';
import { PASSWORD, visitor } from '../../support/credentials/session.ts';
import { send } from '../../support/keyed.ts';
import { dataOf } from '../../support/rejection.ts';

const MINUTE_MS = 60_000;

/** Milliseconds since 1970 are the same in every zone. */
const msOf = (column: string) => `extract(epoch FROM ${column})::float8 * 1000`;
const REVOKED = statement<{ ms: number }>(
  'test_revoked',
  `SELECT ${msOf('expires_at')} AS ms FROM revoked_tokens`,
);
const USER = statement<{ ms: number }>(
  'test_user',
  `SELECT ${msOf('created_at')} AS ms FROM users WHERE id = $1::uuid`,
);
const KEYS = statement<{ created: number; expires: number | null; revoked: number | null }>(
  'test_keys',
  `SELECT ${msOf('created_at')} AS created, ${msOf('expires_at')} AS expires, ${msOf('revoked_at')} AS revoked
   FROM api_keys WHERE user_id = $1::uuid ORDER BY id`,
);

const isNow = (ms: number | null | undefined) =>
  expect(Math.abs((ms ?? 0) - Date.now())).toBeLessThan(MINUTE_MS);

/** A walk by tag, a post at a time. Gives up where it goes in circles. */
async function walk(app: TestApp, key: string, tag: string): Promise<string[]> {
  const titles: string[] = [];
  let after: string | null = null;
  while (titles.length < 50) {
    const { postsConnection } = dataOf(
      await app.gql(
        'query ($tag: String!, $after: String) { postsConnection(tag: $tag, first: 1, after: $after) { nodes { title } pageInfo { hasNextPage endCursor } } }',
        { key, variables: { tag, after } },
      ),
    );
    titles.push(...postsConnection.nodes.map(({ title }: { title: string }) => title));
    if (!postsConnection.pageInfo.hasNextPage) return titles;
    after = postsConnection.pageInfo.endCursor;
  }
  return titles;
}

// `initdb` gives a server the zone of its host.
describe.each(['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu'])('On a server of %s', (TimeZone) => {
  const app = useApp({ world: { TimeZone } });

  it('a post keeps the instant of its creation, and its tags have it', async () => {
    const { key } = await app.account();
    const created = dataOf(
      await app.gql('mutation { createPost(title: "t", body: "b") { id createdAt } }', { key }),
    ).createPost;
    isNow(Date.parse(created.createdAt));
    const update = `mutation { updatePost(id: "${created.id}", title: "u", tags: ["later"]) { createdAt } }`;
    expect(dataOf(await app.gql(update, { key })).updatePost).toEqual({ createdAt: created.createdAt });
    const read = `{ post(id: "${created.id}") { createdAt } }`;
    expect(dataOf(await app.gql(read, { key })).post).toEqual({ createdAt: created.createdAt });
  });

  it('a walk by tag gets every post once, the newest first, whoever was tagged later', async () => {
    const { key } = await app.account();
    const ids: string[] = [];
    for (let n = 0; n < 12; n += 1)
      ids.push(await createPost(app, key, { title: `${n}`, tags: n % 2 === 0 ? ['walked'] : ['before'] }));
    for (const [n, id] of ids.entries())
      if (n % 2 === 1)
        dataOf(await app.gql(`mutation { updatePost(id: "${id}", tags: ["walked"]) { id } }`, { key }));
    expect(await walk(app, key, 'walked')).toEqual(ids.map((_, n) => `${n}`).reverse());
  });

  it('an API key lasts as long as was asked, and shows when it ends', async () => {
    const person = await visitor(app);
    const expiresAt = new Date(Date.now() + 30 * MINUTE_MS).toISOString();
    const create = `mutation { createApiKey(name: "k", scopes: ["posts:read"], expiresAt: "${expiresAt}", currentPassword: "${PASSWORD}") { apiKey { id expiresAt } } }`;
    const { text } = await send(app, { query: create, cookie: person.cookie });
    const { apiKey } = JSON.parse(text).data.createApiKey;
    expect(apiKey.expiresAt).toBe(expiresAt);
    const list = await send(app, {
      query: '{ viewer { createdAt apiKeys { expiresAt createdAt } } }',
      cookie: person.cookie,
    });
    const { viewer } = JSON.parse(list.text).data;
    isNow(Date.parse(viewer.createdAt));
    expect(viewer.apiKeys.map((key: { expiresAt: string | null }) => key.expiresAt)).toContain(expiresAt);
    for (const key of viewer.apiKeys) isNow(Date.parse(key.createdAt));
    const revoke = `mutation { revokeApiKey(id: "${apiKey.id}") }`;
    expect((await send(app, { query: revoke, cookie: person.cookie })).codes).toEqual([]);
    const stored = await app.database.query(KEYS, [person.id]);
    const last = stored.at(-1);
    expect(last?.expires).toBeCloseTo(Date.parse(expiresAt), -1);
    for (const { created } of stored) isNow(created);
    isNow(last?.revoked);
    isNow((await app.database.query(USER, [person.id]))[0]?.ms);
  });

  it('a revoked access token stays rejected until it has expired', async () => {
    const client = await oauthClient(app, { owner: await app.account(), grants: ['client_credentials'] });
    const { body } = await askToken(app, client, { grant_type: 'client_credentials' });
    expect(await statusWith(app, body.access_token)).toBe(200);
    await postForm(app, '/oauth/revoke', { token: body.access_token }, basic(client));
    const { exp = 0 } = decodeJwt(body.access_token);
    // The clean-up drops what has expired.
    const revoked = await app.database.query(REVOKED, []);
    expect(revoked).toHaveLength(1);
    expect(revoked[0]?.ms).toBeGreaterThanOrEqual(exp * 1000);
    await expect.poll(() => statusWith(app, body.access_token)).toBe(401);
  });
});
