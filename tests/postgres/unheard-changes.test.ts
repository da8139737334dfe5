import { expect, it } from 'vitest';
import { adminCommand } from '../support/admin-command.ts';
import { useApp } from '../support/app.ts';
import {
  instanceThrough,
  instanceWithCuttableListener,
  NEVER_MS,
  postgresOf,
} from '../support/database/postgres.ts';
import { stallingProxy } from '../support/database/stalling-proxy.ts';
import { graphqlPost } from '../support/graphql.ts';
import { readEventStream } from '../support/streams/event-stream.ts';
import { published, retire } from '../support/trusted-documents.ts';

const app = useApp({ settings: { TRUST_PROXY: '127.0.0.1', ANONYMOUS_READ: 'true' } });
const QUERY = '{ __typename }';
const SUBSCRIPTION = 'subscription { postCreated { id } }';

/** An instance that hears of nothing after `deafen`. */
async function cutListener() {
  const { instance, listener, expectListening } = await instanceWithCuttableListener(app);
  await expectListening(true);
  const deafen = async () => {
    await listener.off();
    await expectListening(false);
  };
  return { instance, deafen, hear: listener.on };
}

async function stalledListener() {
  const { url } = postgresOf(app);
  const proxy = await stallingProxy(url);
  // No statement ends the connection during the test, and no periodic check finds the changes.
  const limits = { credentialRecheckMs: NEVER_MS, statementTimeoutMs: NEVER_MS };
  const instance = await instanceThrough(app, { url, directUrl: proxy.url }, limits);
  const deafen = async () => {
    proxy.silence();
    proxy.stall();
  };
  return { instance, deafen, hear: async () => proxy.restore() };
}

it.each([
  ['is cut', '203.0.113.7', cutListener],
  ['is stalled and stays open', '203.0.113.8', stalledListener],
])(
  'blocks, limits and retired documents apply although the connection for notifications %s',
  async (_how, address, open) => {
    const { instance, deafen, hear } = await open();
    const { key, email } = await app.account();
    const id = await published(app, QUERY);
    const streamId = await published(app, SUBSCRIPTION);
    const from = (query: string, accept = 'application/json') =>
      instance.fetch('/graphql', graphqlPost(query, { headers: { accept, 'x-forwarded-for': address } }));
    const byId = (documentId: string, accept = 'application/json') =>
      instance.fetch('/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept },
        body: JSON.stringify({ documentId }),
      });
    const limit = async () =>
      (await instance.fetch('/graphql', graphqlPost(QUERY, { key }))).headers.get('x-ratelimit-limit');
    expect([(await from(QUERY)).status, (await byId(id)).status]).toEqual([200, 200]);
    expect(await limit()).not.toBe('9');
    const blocked = readEventStream(await from(SUBSCRIPTION, 'text/event-stream'));
    const retired = readEventStream(await byId(streamId, 'text/event-stream'));
    await blocked.block();
    await retired.block();

    await deafen();
    expect((await adminCommand(app, ['block', 'add', address])).failure).toBeUndefined();
    expect((await adminCommand(app, ['user', 'set-limits', email, '--burst', '9'])).failure).toBeUndefined();
    expect(await retire(app, id)).toBe(1);
    expect(await retire(app, streamId)).toBe(1);
    await expect.poll(async () => (await from(QUERY)).status).toBe(403);
    expect((await blocked.next()).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    await expect.poll(limit).toBe('9');
    await expect.poll(async () => (await byId(id)).status).toBe(404);
    const late = await published(app, '{ late: __typename }');
    expect((await byId(late)).status).toBe(200);

    await hear();
    expect((await retired.next()).errors).toMatchObject([{ extensions: { code: 'DOCUMENT_NOT_FOUND' } }]);
    expect(await retired.event()).toMatchObject({ event: 'complete' });
  },
);
