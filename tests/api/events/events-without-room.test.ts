import { expect, it, onTestFinished } from 'vitest';
import { useApp } from '../../support/app.ts';
import { subscribe } from '../../support/subscriber.ts';

const MIB = 1_048_576;
const app = useApp({ settings: { MAX_PENDING_RESPONSE_BYTES: String(64 * MIB) } });

it('an event that comes while the answers to its account hold their part is not lost: the stream breaks off before it, and resumes with it', async () => {
  const reader = await app.account();
  const author = await app.account();
  const write = async (title: string) => {
    const query = `mutation { createPost(title: "${title}", body: "b") { id } }`;
    expect((await app.gql(query, { key: author.key })).status).toBe(200);
  };
  const subscriber = await subscribe(app, reader);
  await write('before');
  const { id, title } = await subscriber.receive();
  expect(title).toBe('before');

  const answer = app.app.pending.hold();
  onTestFinished(() => answer.release());
  answer.begin(reader.id);
  answer.reserve(8 * MIB);
  await write('meanwhile');
  // No event with an id: the client would go on after it.
  const block = await subscriber.stream.event().catch(() => undefined);
  expect(block?.id).toBeUndefined();
  expect(block?.event).not.toBe('complete');

  answer.release();
  await write('after');
  const resumed = await subscribe(app, { ...reader, header: id });
  expect((await resumed.receive()).title).toBe('meanwhile');
  expect((await resumed.receive()).title).toBe('after');
});
