import { expect, it } from 'vitest';
import { run } from '../../support/processes/started.ts';
import { Listeners } from '../../support/streams/listeners.ts';
import { connect, contentOf, goOn, listen, openStage, type Stage, titles } from './stage.ts';

const WAL_WRITER = `SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'`;

/** Lets everybody come, with 25 of them at events that only the server has got that the service uses now. */
async function listenWithLosses(stage: Stage, beforeLosses: () => Promise<void>): Promise<Listeners> {
  const listeners = new Listeners(stage);
  await listeners.come(10);
  await stage.post(titles('early', 6));
  await listeners.come(15);
  await beforeLosses();
  const transaction = await stage.openTransaction('slow');
  await stage.post(titles('lost', 4));
  await listeners.come(15);
  await transaction.query('COMMIT');
  await stage.post(titles('lost, too', 4));
  await listeners.come(10);
  await listeners.have('lost, too 3');
  await listeners.leave();
  expect(listeners.count).toBe(50);
  return listeners;
}

/**
 * Those of them that have handled a lost event: three of the first ten, fourteen of each fifteen, and the last ten, who came
 * after one.
 */
const HAVE_LOST = 3 + 14 + 14 + 10;

it('nobody misses anything where PostgreSQL is killed after an aborted write', async () => {
  const stage = await openStage('killed');
  const listeners = await listen(stage, 'ROLLBACK');
  for (let n = 0; n < 5; n += 1) await (await stage.openTransaction('aborted')).query('ROLLBACK');
  await stage.server.crash();
  await stage.postOnceUp();
  await goOn(stage);
  expect(await listeners.judge()).toBe(0);
});

it('nobody is told anything by a clean switchover', async () => {
  const stage = await openStage('switchover');
  const standby = await (await stage.server.copy()).standby();
  const listeners = await listen(stage);
  await stage.server.stop();
  await run(standby.url, 'SELECT pg_promote()');
  stage.moveTo(standby);
  await stage.postOnceUp();
  await goOn(stage);
  expect(await listeners.judge()).toBe(0);
});

it('who has an event that was lost with a standby’s delay is told, and nobody else', async () => {
  const stage = await openStage('promoted');
  const standby = await (await stage.server.copy()).standby();
  const listeners = await listenWithLosses(stage, async () => {
    const last = `BEGIN ISOLATION LEVEL READ COMMITTED; SELECT 1/count(*) FROM public.posts WHERE title = '${stage.acknowledged.at(-1)}'; COMMIT`;
    const replayed = () =>
      run(contentOf(standby.url), last).then(
        () => true,
        () => false,
      );
    await expect.poll(replayed).toBe(true);
    // From here on it gets nothing any more.
    await standby.stop();
  });
  await stage.server.kill();
  await standby.restart();
  await run(standby.url, 'SELECT pg_promote()');
  stage.moveTo(standby);
  await stage.postOnceUp();
  // As many as were lost, so that their numbers and transaction ids are given again.
  await goOn(stage, 10);
  expect(await listeners.judge()).toBe(HAVE_LOST);
});

it('who came before a lost event could be read misses nothing of what comes instead', async () => {
  const stage = await openStage('held and lost');
  const listeners = new Listeners(stage);
  await stage.post(titles('early', 6));
  await listeners.come(15);
  const copy = await stage.server.copy();
  await stage.openTransaction('slow');
  await stage.post(titles('lost', 4));
  await listeners.come(35);
  await listeners.leave();
  stage.moveTo(await copy.alone());
  await stage.postOnceUp();
  await goOn(stage, 10);
  expect(await listeners.judge()).toBe(0);
});

it('who has an event of a commit that was lost by a crash is told, and nobody else', async () => {
  const stage = await openStage('asynchronous', {
    synchronous_commit: 'off',
    wal_buffers: '64MB',
    autovacuum: 'off',
    bgwriter_lru_maxpages: '0',
  });
  const listeners = await listenWithLosses(stage, async () => {
    const observer = await connect(stage.server.url);
    await observer.query('CHECKPOINT');
    const { rows } = await observer.query<{ pid: number }>(WAL_WRITER);
    // What is committed from here on is never written.
    for (const { pid } of rows) process.kill(pid, 'SIGSTOP');
    expect(rows).toHaveLength(1);
  });
  await stage.server.crash();
  await stage.postOnceUp();
  await goOn(stage, 10);
  expect(await listeners.judge()).toBe(HAVE_LOST);
});
