import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { temporaryFolder } from '../../support/processes/process.ts';
import { LAST, Listeners, type Scene } from '../../support/streams/listeners.ts';

/** A folder with a migrated database. */
async function migrated(): Promise<string> {
  const { settings, drop } = await createTestDatabase();
  onTestFinished(drop);
  return settings.DATA_DIR ?? '';
}

/** What stays in the folder may be locked by nobody: its process is gone. */
async function copyOf(folder: string): Promise<string> {
  const copy = await temporaryFolder();
  await cp(join(folder, 'postgres'), join(copy, 'postgres'), { recursive: true });
  return copy;
}

it('who has an event that an older copy of the embedded folder lacks is told, and nobody else', async () => {
  const folder = await migrated();
  const start = (DATA_DIR: string) =>
    startApp(
      { settings: { DATA_DIR }, drop: async () => undefined },
      { settings: { MAX_STREAMS_PER_CLIENT: '1000' } },
    );
  let running = await start(folder);
  onTestFinished(() => running.stop());
  const author = await running.account();
  const acknowledged: string[] = [];
  const scene: Scene & { app: typeof running } = { app: running, author, acknowledged };
  const post = async (...titles: string[]) => {
    for (const title of titles) {
      await createPost(scene.app, author.key, { title });
      acknowledged.push(title);
    }
  };
  const restart = async (on: string) => {
    await running.stop();
    running = await start(on);
    scene.app = running;
  };

  const [early, late] = [new Listeners(scene), new Listeners(scene)];
  await early.come(5);
  await post('one', 'two', 'three');
  await early.come(5);
  await post('four', 'five');
  await early.have('five');
  await early.leave();
  await running.stop();
  const copy = await copyOf(folder);
  running = await start(folder);
  scene.app = running;
  await post('lost');
  await late.come(5);
  await post('lost, too', 'and this');
  await late.have('and this');
  await late.leave();
  await restart(copy);
  // As many as were lost, so that their numbers and transaction ids are given again.
  await post('new', 'newer', 'newest', 'and more', LAST);
  expect(await early.judge()).toBe(0);
  expect(await late.judge()).toBe(5);
});
