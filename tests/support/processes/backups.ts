import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { TestApp } from '../app.ts';
import { type RawResponse, send } from '../keyed.ts';
import type { Parsed } from '../parsed.ts';
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

/** A post that was acknowledged, and how. */
export interface Written {
  readonly title: string;
  readonly idempotencyKey: string;
  readonly response: RawResponse;
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
    const response = await send(app, { query: CREATE, variables: { title }, idempotencyKey, key });
    const postId: unknown = JSON.parse(response.text).data?.createPost.id;
    written.push({ title, idempotencyKey, response });
    const comment = await send(app, { query: COMMENT, variables: { postId }, key });
    statuses.push(response.status, comment.status);
  });
  return { written, statuses, stop };
}

/** A line of a backup, and the rows that follow it. */
export interface BackupPart {
  readonly line: Parsed;
  readonly rows: string;
}

/** Reads a backup as docs/decisions/0051-logical-copy.md describes it. */
export function readParts(file: string): BackupPart[] {
  const parts: BackupPart[] = [];
  let rest = zstdDecompressSync(readFileSync(file));
  while (rest.length > 0) {
    const end = rest.indexOf('\n') + 1;
    const line = JSON.parse(rest.toString('utf8', 0, end));
    const bytes = line.bytes ?? 0;
    parts.push({ line, rows: rest.toString('utf8', end, end + bytes) });
    rest = rest.subarray(end + bytes);
  }
  return parts;
}

/** The last line of a backup. */
export const endOf = (file: string): Parsed => readParts(file).at(-1)?.line;

/** Writes what is a backup as far as its checksum goes. The last line is made from `parts`. */
export function writeParts(file: string, parts: readonly BackupPart[]): void {
  const content = Buffer.concat(
    parts.flatMap(({ line, rows }) => [Buffer.from(`${JSON.stringify(line)}\n`), Buffer.from(rows)]),
  );
  const sha256 = createHash('sha256').update(content).digest('hex');
  writeFileSync(
    file,
    zstdCompressSync(Buffer.concat([content, Buffer.from(`${JSON.stringify({ sha256 })}\n`)])),
  );
}
