import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { TestApp } from '../app.ts';
import { type RawAnswer, send } from '../keyed.ts';
import { fillFolder } from './migrated-folder.ts';
import { mountedDisk } from './mounted.ts';
import { type Process, runScript, type Settings, startLoop } from './process.ts';
import type { ServerProcess } from './server.ts';

/** A server as the helpers of the tests in process know it. */
export const asApp = ({ origin }: Pick<ServerProcess, 'origin'>): Pick<TestApp, 'fetch'> => ({
  fetch: async (path, init) => fetch(`${origin}${path}`, init),
});

/** Folders on a disk in memory, where flushes cost nothing. The one for backups exists, that of the data has an empty database. */
export async function quickFolders() {
  const { folder } = await mountedDisk(2_000);
  const [dataDir, backups, restored] = ['data', 'backups', 'restored'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(backups);
  await fillFolder(dataDir);
  return { dataDir, backups, restored };
}

/** Starts an admin command, and leaves it to the test what becomes of it. */
export const launchAdmin = (args: readonly string[], dataDir: string, settings: Settings = {}): Process =>
  runScript('src/admin/main.ts', args, { DATA_DIR: dataDir, ...settings });

/** What a backup has begun to write in a folder. */
export const partsIn = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.endsWith('.part'));

/** What somebody else's program may do with the embedded database. */
export async function openGuest(dataDir: string): Promise<pg.Client> {
  const guest = new pg.Client({ host: dataDir, user: 'postgres', database: 'postgres' });
  // The test ends the server first.
  guest.on('error', () => undefined);
  await guest.connect();
  onTestFinished(() => guest.end().catch(() => undefined));
  return guest;
}

/** A post that was acknowledged, and how. */
export interface Written {
  readonly title: string;
  readonly idempotencyKey: string;
  readonly answer: RawAnswer;
}

export const CREATE =
  'mutation ($title: String!) { createPost(title: $title, body: "b", tags: ["one", "two"]) { id title createdAt tags } }';
const COMMENT = 'mutation ($postId: ID!) { createComment(postId: $postId, body: "c") { id } }';

/** Posts under keys, each with a comment, one after the other, until it is stopped. */
export function keyedLoad(app: Pick<TestApp, 'fetch'>, key: string, name: string) {
  const written: Written[] = [];
  const statuses: number[] = [];
  const { stop } = startLoop(async () => {
    const title = `${name} ${written.length}`;
    const idempotencyKey = `${name}-${written.length}-of-the-load`;
    const answer = await send(app, { query: CREATE, variables: { title }, idempotencyKey, key });
    const postId: unknown = JSON.parse(answer.text).data?.createPost.id;
    written.push({ title, idempotencyKey, answer });
    const comment = await send(app, { query: COMMENT, variables: { postId }, key });
    statuses.push(answer.status, comment.status);
  });
  return { written, statuses, stop };
}

/** Runs statements one after the other, again and again, until it is stopped; `done` counts the rounds. */
export function guestLoad(guest: pg.Client, statements: (round: number) => readonly string[]) {
  const load = { rounds: 0 };
  const loop = startLoop(async () => {
    for (const sql of statements(load.rounds)) await guest.query(sql);
    load.rounds += 1;
  });
  return Object.assign(load, loop);
}
