import { expect, it } from 'vitest';
import { pruneEvents } from '../../../src/engine/events/event-log.ts';
import { dropEvents } from '../../support/database/events.ts';
import { linesOf, WARN } from '../../support/log-lines.ts';
import { readMetric } from '../../support/metrics.ts';
import { run } from '../../support/processes/started.ts';
import { Listeners } from '../../support/streams/listeners.ts';
import { subscribe, titlesOf } from '../../support/streams/subscriber.ts';
import { connect, contentOf, goOn, listen, openStage, titles } from './stage.ts';

const WAITS = 'events.blocked';
const NO_LONGER = 'events.unblocked';

/** Every event is older than that. */
const ANY_MS = -3_600_000;

it('an idle database, whose events are all past retention, expires nobody who has had them', async () => {
  const stage = await openStage('idle');
  const listeners = await listen(stage);
  const pruned = [...stage.acknowledged];
  await dropEvents(stage.app);
  await stage.restartApp(async () => {
    await stage.server.stop();
    await stage.server.restart();
    await stage.server.crash();
  });
  const atTheEnd = new Listeners(stage);
  await atTheEnd.come(3);
  await atTheEnd.leave();
  await goOn(stage);
  // Those who have had every event, or came after the last, are not told.
  expect(await listeners.judge(pruned)).toBe(9 + 13 + 9 + 4 + 0);
  expect(await atTheEnd.judge()).toBe(0);
});

it.each(['COMMIT', 'ROLLBACK'] as const)(
  'a prepared transaction that was left behind keeps its events past retention, until %s',
  async (end) => {
    const stage = await openStage(`prepared ${end}`, { max_prepared_transactions: '5' });
    const { app, server } = stage;
    const listeners = new Listeners(stage);
    await listeners.come(10);
    await stage.post(titles('early', 6));
    await listeners.come(15);
    await listeners.have('early 5');
    const transaction = await stage.openTransaction('left behind');
    await transaction.query(`PREPARE TRANSACTION 'left-behind'`);
    await transaction.end();
    await stage.post(titles('meanwhile', 4));
    await listeners.come(25);
    await listeners.leave();
    expect(listeners.count).toBe(50);
    await expect.poll(() => linesOf(app.logged, WAITS)).toHaveLength(1);
    expect(linesOf(app.logged, WAITS)).toMatchObject([
      { level: WARN, blockedBy: 'prepared transaction left-behind', database: 'content', user: 'postgres' },
    ]);
    // What could be read is past retention; what nobody could read is not dropped, however often clean-up looks.
    expect(await pruneEvents(app.database, ANY_MS)).toBe(6);
    for (let n = 0; n < 3; n += 1) expect(await pruneEvents(app.database, ANY_MS)).toBe(0);
    await run(contentOf(server.url), `${end} PREPARED 'left-behind'`);
    // Nor at the looks after, of whatever instance: readers need a moment.
    for (let n = 0; n < 3; n += 1) expect(await pruneEvents(app.database, ANY_MS)).toBe(0);
    if (end === 'COMMIT') stage.acknowledged.push('left behind');
    await expect.poll(() => linesOf(app.logged, NO_LONGER)).toHaveLength(1);
    // A process that has read the events before they were dropped would still have them.
    await stage.restartApp(async () => undefined);
    await goOn(stage);
    // Six of the first ten have not handled all that was dropped.
    expect(await listeners.judge(titles('early', 6))).toBe(6);
  },
);

it('an idle writer in another database of the server is told, by name, and its end is', async () => {
  const stage = await openStage('idle writer');
  const { app, author, server } = stage;
  await run(server.url, 'CREATE DATABASE elsewhere');
  const stream = await subscribe(app, { key: author.key });
  await stage.post(['before']);
  expect(titlesOf(await stream.until('before'))).toEqual(['before']);
  const writer = await connect(`${contentOf(server.url, 'elsewhere')}?application_name=nightly%20report`);
  await writer.query('BEGIN; SELECT pg_current_xact_id()');
  const { rows } = await writer.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  await stage.post(['held']);
  await expect.poll(() => linesOf(app.logged, WAITS)).toHaveLength(1);
  expect(linesOf(app.logged, WAITS)).toMatchObject([
    {
      level: WARN,
      blockedBy: `process ${rows[0]?.pid}`,
      user: 'postgres',
      database: 'elsewhere',
      applicationName: 'nightly report',
    },
  ]);
  expect(await readMetric(app, 'content_graph_event_delivery_blocked_seconds')).toBeGreaterThan(5);
  await writer.query('COMMIT');
  expect(titlesOf(await stream.until('held'))).toEqual(['held']);
  await expect.poll(() => linesOf(app.logged, NO_LONGER)).toHaveLength(1);
  expect(await readMetric(app, 'content_graph_event_delivery_blocked_seconds')).toBe(0);
});
