import { expect, it } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { CREATE_ALONE, send } from '../../support/keyed.ts';
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

it('an event is delivered that was committed while the log was read', async () => {
  const reading = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isHeld = false;
  const database: Database = {
    ...app.database,
    async query(statement, values) {
      const rows = await app.database.query(statement, values);
      if (isHeld && statement.name.startsWith('events_after')) {
        reading.resolve();
        await goOn.promise;
      }
      return rows;
    },
  };
  const instance = secondInstance(app, { database });
  const { key } = await app.account();
  const create = async (title: string) => {
    const response = await send(instance, { query: CREATE_ALONE, variables: { title }, key });
    expect(response.status).toBe(200);
  };
  holdTimersInTest(1_000);
  const { receive } = await subscribe(instance, { key });
  await create('one');
  expect((await receive()).title).toBe('one');
  isHeld = true;
  await create('two');
  await reading.promise;
  await create('three');
  goOn.resolve();
  for (const title of ['two', 'three']) expect((await receive()).title).toBe(title);
});
