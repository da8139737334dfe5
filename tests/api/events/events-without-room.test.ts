import { expect, it, onTestFinished } from 'vitest';
import { useApp } from '../../support/app.ts';
import { subscribe } from '../../support/streams/subscriber.ts';

const MIB = 1_048_576;
const app = useApp({ settings: { MAX_PENDING_RESPONSE_BYTES: String(64 * MIB) } });

it('an event that comes while the responses to its account hold their part is not lost: the stream gets it once there is room', async () => {
  const reader = await app.account();
  const author = await app.account();
  const write = async (title: string) => {
    const query = `mutation { createPost(title: "${title}", body: "b") { id } }`;
    expect((await app.gql(query, { key: author.key })).status).toBe(200);
  };
  const subscriber = await subscribe(app, reader);
  await write('before');
  expect((await subscriber.receive()).title).toBe('before');

  const response = app.app.pending.reservation();
  onTestFinished(() => response.release());
  response.begin(reader.id);
  response.reserve(8 * MIB);
  const logged = app.logged.length;
  await write('meanwhile');
  await write('after');
  await expect.poll(() => app.logged.slice(logged).join('')).toContain('events.batch_read_failed');

  response.release();
  expect((await subscriber.receive()).title).toBe('meanwhile');
  const { title, id } = await subscriber.receive();
  expect(title).toBe('after');
  await write('last');
  const resumed = await subscribe(app, { ...reader, header: id });
  expect((await resumed.receive()).title).toBe('last');
});
