import { expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
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
