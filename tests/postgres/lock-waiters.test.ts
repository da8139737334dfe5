import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { createPost } from '../support/content.ts';
import { besidePool } from '../support/database/postgres.ts';
import { send } from '../support/keyed.ts';

/** Half of them are for transactions. */
const app = useApp({ settings: { DATABASE_POOL_SIZE: '10' } });
const MUTATIONS = 20;
/** About half a second, in which each would have tried once. */
const LOOKS = 100;

it.each([
  ['keyed', true],
  ['other', false],
])(
  'Of the %s mutations of an account that wait for a row, one at a time tries to get it',
  async (_what, keyed) => {
    const { key } = await app.account();
    const postId = await createPost(app, key);
    // A transaction would see once what others are at.
    const [holder, watcher] = [await besidePool(app), await besidePool(app)];
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM posts WHERE id = $1 FOR UPDATE', [postId]);
    const mutations = Array.from({ length: MUTATIONS }, (_, index) =>
      send(app, {
        query: `mutation { updatePost(id: "${postId}", title: "title ${index}") { id } }`,
        key,
        ...(keyed ? { idempotencyKey: `key ${index}` } : {}),
      }),
    );
    const mostWaiting = async () => {
      let most = 0;
      for (let look = 0; look < LOOKS; look += 1) {
        const { rows } = await watcher.query<{ count: number }>(
          `SELECT count(*)::int FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ 'posts'`,
        );
        most = Math.max(most, rows[0]?.count ?? 0);
        await delay(5);
      }
      return most;
    };
    // Those that have begun before anybody had waited for long are at it together, once.
    await expect.poll(mostWaiting).toBe(1);
    await holder.query('ROLLBACK');
    for (const { status } of await Promise.all(mutations)) expect(status).toBe(200);
  },
);
