import { expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { watchedDatabase } from '../../support/database/watched.ts';
import { send } from '../../support/keyed.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { subscribe } from '../../support/streams/subscriber.ts';
import { holdTimersInTest } from '../../support/time/timers.ts';

const app = useApp();

it('an event is delivered because it was committed, not because the log is polled', async () => {
  const { key } = await app.account();
  const { receive } = await subscribe(app, { key });
  holdTimersInTest(1_000);
  // One poll may still be due from before.
  for (const title of ['one', 'two', 'three']) {
    await createPost(app, key, { title });
    expect((await receive()).title).toBe(title);
  }
});

it('an open stream without events does not read the log again and again', async () => {
  let reads = 0;
  const database = watchedDatabase(app.database, ({ name }) => {
    if (name.startsWith('events_after')) reads += 1;
  });
  const instance = secondInstance(app, { database });
  const { key } = await app.account();
  holdTimersInTest(1_000);
  const { receive } = await subscribe(instance, { key });
  await createPost(app, key, { title: 'one' });
  expect((await receive()).title).toBe('one');
  const before = reads;
  expect(before).toBeGreaterThan(0);
  // Each query is a round trip, in which an instance that did not wait for a commit would read the log, too.
  for (let query = 0; query < 30; query += 1)
    expect((await send(instance, { query: '{ posts { id } }', key })).status).toBe(200);
  // The notification of the commit may come after the event.
  expect(reads - before).toBeLessThanOrEqual(2);
});
