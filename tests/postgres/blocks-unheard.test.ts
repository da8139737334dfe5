import { expect, it } from 'vitest';
import { adminCommand } from '../support/admin-command.ts';
import { useApp } from '../support/app.ts';
import { instanceWithCuttableListener } from '../support/database/postgres.ts';
import { graphqlPost } from '../support/graphql.ts';
import { readEventStream } from '../support/streams/event-stream.ts';

const app = useApp({ settings: { TRUST_PROXY: '127.0.0.1', ANONYMOUS_READ: 'true' } });
const ADDRESS = '203.0.113.7';
const from = (query: string, accept = 'application/json') =>
  graphqlPost(query, { headers: { accept, 'x-forwarded-for': ADDRESS } });

it('an instance whose connection that listens is cut hears of blocks and limits all the same, and ends streams', async () => {
  const { instance, listener, expectListening } = await instanceWithCuttableListener(app);
  await expectListening(true);
  const stream = readEventStream(
    await instance.fetch('/graphql', from('subscription { postCreated { id } }', 'text/event-stream')),
  );
  await stream.block();
  await listener.off();
  await expectListening(false);
  const { key, email } = await app.account();
  const limitOf = async () =>
    (await instance.fetch('/graphql', graphqlPost('{ __typename }', { key }))).headers.get(
      'x-ratelimit-limit',
    );
  expect(await limitOf()).not.toBe('9');

  expect((await adminCommand(app, ['block', 'add', ADDRESS])).failure).toBeUndefined();
  expect((await adminCommand(app, ['user', 'set-limits', email, '--burst', '9'])).failure).toBeUndefined();
  await expect.poll(async () => (await instance.fetch('/graphql', from('{ __typename }'))).status).toBe(403);
  expect((await stream.next()).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
  await expect.poll(limitOf).toBe('9');
});
