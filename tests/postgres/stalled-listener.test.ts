import { expect, it } from 'vitest';
import { adminCommand } from '../support/admin-command.ts';
import { useApp } from '../support/app.ts';
import { instanceThrough, NEVER_MS, postgresOf } from '../support/database/postgres.ts';
import { stallingProxy } from '../support/database/stalling-proxy.ts';
import { graphqlPost } from '../support/graphql.ts';
import { published, retire } from '../support/trusted-documents.ts';

const app = useApp({ settings: { TRUST_PROXY: '127.0.0.1', ANONYMOUS_READ: 'true' } });
const ADDRESS = '203.0.113.8';
const QUERY = '{ __typename }';

it('blocks, limits and retired documents apply although the connection for notifications is stalled and stays open', async () => {
  const { url } = postgresOf(app);
  const proxy = await stallingProxy(url);
  // No statement ends the connection during the test, and no periodic check finds the changes.
  const instance = await instanceThrough(
    app,
    { url, directUrl: proxy.url },
    { credentialRecheckMs: NEVER_MS, statementTimeoutMs: NEVER_MS },
  );
  const { key, email } = await app.account();
  const id = await published(app, QUERY);
  const headers = { 'x-forwarded-for': ADDRESS };
  const statusFrom = async () => (await instance.fetch('/graphql', graphqlPost(QUERY, { headers }))).status;
  const byId = async () => {
    const body = JSON.stringify({ documentId: id });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    return (await instance.fetch('/graphql', init)).status;
  };
  const limit = async () =>
    (await instance.fetch('/graphql', graphqlPost(QUERY, { key }))).headers.get('x-ratelimit-limit');
  expect(await statusFrom()).toBe(200);
  expect(await byId()).toBe(200);

  proxy.silence();
  proxy.stall();
  expect((await adminCommand(app, ['block', 'add', ADDRESS])).failure).toBeUndefined();
  expect((await adminCommand(app, ['user', 'set-limits', email, '--burst', '9'])).failure).toBeUndefined();
  expect(await retire(app, id)).toBe(1);
  await expect.poll(statusFrom).toBe(403);
  await expect.poll(limit).toBe('9');
  await expect.poll(byId).toBe(404);
});
