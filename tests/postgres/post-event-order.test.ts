import { describe, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { pgbouncer } from '../support/database/pgbouncer.ts';
import { instanceThrough, postgresOf } from '../support/database/postgres.ts';
import { expectEventsInOrder } from '../support/post-event-order.ts';
import { instanceOnOwnPool } from '../support/second-instance.ts';

describe('Events of a post are in the order of its changes, however many clients change one post at once', () => {
  describe('directly', () => {
    const app = useApp();

    it('through instances, one of them with a pool of three', async () => {
      const small = { ...app.config, database: { ...postgresOf(app), poolSize: 3 } };
      const instances = [app, await instanceOnOwnPool(app), await instanceOnOwnPool(app, small)];
      await expectEventsInOrder(app, instances);
    });
  });

  describe('through PgBouncer', () => {
    const app = useApp();

    it('in transaction mode', async () => {
      const url = await pgbouncer(postgresOf(app).url);
      await expectEventsInOrder(app, [
        await instanceThrough(app, { url }),
        await instanceThrough(app, { url }),
      ]);
    });
  });
});
