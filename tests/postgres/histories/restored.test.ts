import { expect, it } from 'vitest';
import { INFO, linesOf } from '../../support/log-lines.ts';
import { run } from '../../support/processes/started.ts';
import { Listeners } from '../../support/streams/listeners.ts';
import { contentOf, goOn, listen, openServer, openStage, type Stage, titles } from './stage.ts';

const ADOPTED = 'events.log_imported';

/** Five who are at events that a dump does not have any more. */
async function listenAfterDump(stage: Stage): Promise<Listeners> {
  const late = new Listeners(stage);
  await stage.post(titles('too late', 3));
  await late.come(5);
  await stage.post(titles('much too late', 4));
  await late.have('much too late 3');
  await late.leave();
  return late;
}

/** The five that stay connected have had what came after the dump. */
const CONNECTED = 5;
/** Of five that came after the dump, one has handled nothing since, but came after events that the dump lacks. */
const LATE = 5;

it.each([
  ['rows', ['--inserts']],
  ['a block', []],
])(
  'who has an event that a dump lacks is told, and nobody else: restored as %s on another server',
  async (_as, options) => {
    const stage = await openStage(`dump ${options.join()}`);
    const listeners = await listen(stage);
    const file = stage.server.path('dump.sql');
    await stage.server.run('pg_dump', ['-d', contentOf(stage.server.url), '-f', file, ...options]);
    const late = await listenAfterDump(stage);
    // Its transaction ids are about the same: they mean something else.
    const other = await openServer(`restored ${options.join()}`);
    await other.run('psql', ['-q', '-v', 'ON_ERROR_STOP=1', '-d', contentOf(other.url), '-f', file]);
    stage.moveTo(other);
    await stage.postOnceUp();
    await goOn(stage);
    expect(await listeners.judge()).toBe(CONNECTED);
    expect(await late.judge()).toBe(LATE);
    expect(linesOf(stage.app.logged, ADOPTED)).toMatchObject([{ level: INFO, events: 19 }]);
  },
);

it('who has an event that a dump lacks is told, and nobody else: restored beside the original', async () => {
  const stage = await openStage('dump beside');
  const listeners = await listen(stage);
  const { server } = stage;
  const file = server.path('dump.sql');
  await server.run('pg_dump', ['-d', contentOf(server.url), '-f', file]);
  const late = await listenAfterDump(stage);
  await stage.restartApp(async () => {
    await run(server.url, 'CREATE DATABASE beside');
    await server.run('psql', [
      '-q',
      '-v',
      'ON_ERROR_STOP=1',
      '-d',
      contentOf(server.url, 'beside'),
      '-f',
      file,
    ]);
  }, 'beside');
  await goOn(stage);
  expect(await listeners.judge()).toBe(CONNECTED);
  expect(await late.judge()).toBe(LATE);
});

it('a dump of a restored dump is one, too: who had its events goes on, though nobody listened meanwhile', async () => {
  const stage = await openStage('dump of a dump');
  const listeners = await listen(stage);
  for (const round of [1, 2]) {
    const file = stage.server.path('dump.sql');
    await stage.restartApp(async () => {
      await stage.server.run('pg_dump', ['-d', contentOf(stage.server.url), '-f', file]);
      const other = await openServer(`restored ${round}`);
      await other.run('psql', ['-q', '-v', 'ON_ERROR_STOP=1', '-d', contentOf(other.url), '-f', file]);
      stage.moveTo(other);
    });
    await stage.post(titles(`round ${round}`, 3));
    await expect.poll(() => linesOf(stage.app.logged, ADOPTED)).toHaveLength(1);
  }
  await goOn(stage);
  expect(await listeners.judge()).toBe(0);
});

it('a dump of the server from which this one was copied goes on, though its transactions are still to come here', async () => {
  const stage = await openStage('sibling');
  const copy = await stage.server.copy();
  await run(
    contentOf(stage.server.url),
    'DO $$ BEGIN FOR n IN 1..3000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$',
  );
  const listeners = await listen(stage);
  const file = stage.server.path('dump.sql');
  await stage.server.run('pg_dump', [
    '-d',
    contentOf(stage.server.url),
    '-f',
    file,
    '--clean',
    '--if-exists',
  ]);
  await stage.restartApp(async () => {
    const sibling = await copy.alone();
    await sibling.run('psql', ['-q', '-v', 'ON_ERROR_STOP=1', '-d', contentOf(sibling.url), '-f', file]);
    stage.moveTo(sibling);
  });
  await expect.poll(() => linesOf(stage.app.logged, ADOPTED)).toHaveLength(1);
  await goOn(stage);
  expect(await listeners.judge()).toBe(0);
});
