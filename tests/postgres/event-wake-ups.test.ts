import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { createPost } from '../support/content.ts';
import { instanceOnOwnPool } from '../support/second-instance.ts';
import { subscribe } from '../support/streams/subscriber.ts';
import { onlyShortTimers } from '../support/time/short-timers.ts';

const app = useApp();

it('an event of another instance is delivered because that tells of it, not because the log is polled', async () => {
  const { key } = await app.account();
  const { receive } = await subscribe(await instanceOnOwnPool(app), { key });
  onlyShortTimers();
  // One poll may still be due from before.
  for (const title of ['one', 'two', 'three']) {
    await createPost(app, key, { title });
    expect((await receive()).title).toBe(title);
  }
});
