import { beforeEach, describe, expect, it } from 'vitest';
import { statement } from '../../../src/database/statement.ts';
import { openLog } from '../../../src/engine/events/log-state.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { eventsReadable } from '../../support/database/events.ts';
import { subscribe, titlesOf } from '../../support/streams/subscriber.ts';

/** As an earlier version drops events: it knows no checksums. */
const PRUNED_BEFORE = statement<never>(
  'test_pruned_before',
  `WITH dropped AS (DELETE FROM events RETURNING xid, id)
   UPDATE event_log SET pruned_xid = newest.xid, pruned_id = newest.id, pruned_mark = NULL
   FROM (SELECT xid, id FROM dropped ORDER BY xid DESC, id DESC LIMIT 1) AS newest`,
);
/** The dump of a log without events, from a server that has seen far more transactions, and a post since. */
const RESTORED_IDLE = statement<never>(
  'test_restored_idle',
  `WITH dropped AS (DELETE FROM events), posted AS (INSERT INTO events (kind, root_id) SELECT 'POST_CREATED', id FROM posts LIMIT 1)
   UPDATE event_log SET origin = 'elsewhere', pruned_era = 32767, pruned_xid = '900000000', pruned_id = 1, pruned_mark = repeat('1', 20)`,
);
const ERAS = statement<{ eras: number }>('test_eras', 'SELECT eras FROM event_log');
const log = createLogger({ level: 'silent', pretty: false });

describe('The log of an earlier version or of another server', () => {
  const app = useApp();
  let key = '';
  beforeEach(async () => {
    ({ key } = await app.account());
    // The log begins with its first reader.
    await (await subscribe(app, { key })).close();
    await createPost(app, key, { title: 'earlier' });
    await eventsReadable(app);
  });

  /** A new subscriber gets what comes, and so does one that comes back with the id it was given first. */
  async function expectOnward(): Promise<void> {
    const stream = await subscribe(app, { key });
    await createPost(app, key, { title: 'one' });
    await createPost(app, key, { title: 'two' });
    expect(titlesOf(await stream.until('two'))).toEqual(['one', 'two']);
    const back = await subscribe(app, { key, header: stream.startId });
    expect(titlesOf(await back.until('two'))).toEqual(['one', 'two']);
  }

  it('goes on where an earlier version has dropped every event', async () => {
    await app.database.query(PRUNED_BEFORE, []);
    await expectOnward();
  });

  it('goes on where all its events were dropped before the dump, and a post was made before anybody came', async () => {
    await app.database.query(RESTORED_IDLE, []);
    await expectOnward();
  });

  it('is taken over once, by the first of the instances that notice at the same time', async () => {
    const eras = async () => (await app.database.query(ERAS, []))[0]?.eras ?? Number.NaN;
    await app.database.query(RESTORED_IDLE, []);
    const before = await eras();
    // The instance of this test may notice, too.
    await Promise.all([1, 2, 3].map(() => openLog(app.database, log)));
    expect(await eras()).toBe(before + 1);
  });
});
