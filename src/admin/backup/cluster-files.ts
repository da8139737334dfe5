import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AdminError } from '../output.ts';
import { readError } from './file-error.ts';

/** A file or folder of a PostgreSQL data folder, by its path in it. */
export interface ClusterEntry {
  readonly name: string;
  readonly isFolder: boolean;
}

/** The content of these is made anew at each start (PostgreSQL, "Making a Base Backup Using the Low Level API"). */
const EMPTIED = new Set([
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
]);
/** Of the running server, or of temporary tables, and the log, which is copied at the end. */
const LEFT_OUT =
  /^postmaster\.(pid|opts)$|(^|\/)pgsql_tmp|(^|\/)t\d+_\d+(\.\d+|_\w+)*$|^pg_wal\/[^/]*$|^backup_label/;
/** Tells from where to recover, so nothing may be newer. */
const LAST = 'global/pg_control';

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** What a folder has. Nothing if it is gone, as a database that was dropped meanwhile. */
async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw readError(folder, error);
  }
}

/** The entries of a data folder that a backup has. Throws AdminError if some are kept elsewhere. */
export async function clusterEntries(folder: string): Promise<readonly ClusterEntry[]> {
  const entries: ClusterEntry[] = [];
  async function walk(name: string): Promise<void> {
    for (const entry of await entriesOf(join(folder, name))) {
      const path = name === '' ? entry.name : `${name}/${entry.name}`;
      if (entry.isDirectory()) {
        entries.push({ name: path, isFolder: true });
        if (!EMPTIED.has(path)) await walk(path);
      } else if (entry.isSymbolicLink())
        throw new AdminError(
          `"${join(folder, path)}" is a link: a backup has no tablespaces and nothing else that is kept elsewhere. Move it back into the folder.`,
        );
      else if (entry.isFile() && !LEFT_OUT.test(path) && path !== LAST)
        entries.push({ name: path, isFolder: false });
    }
  }
  await walk('');
  return [...entries, { name: LAST, isFolder: false }];
}

const WAL_SEGMENT = /^[0-9A-F]{24}$/;

/**
 * The segments of the write-ahead log from `first` to `last`, in order. Throws AdminError if some are gone: a checkpoint
 * removes or renames the first ones first.
 */
export async function walSegments(folder: string, first: string, last: string): Promise<readonly string[]> {
  const names = (await entriesOf(join(folder, 'pg_wal')))
    .map(({ name }) => name)
    .filter((name) => WAL_SEGMENT.test(name) && name >= first && name <= last);
  names.sort();
  if (names[0] !== first || names.at(-1) !== last)
    throw new AdminError(
      'The database has removed a part of its log that the backup needs, as when it is stopped meanwhile. Run the command again.',
    );
  return names;
}

const PART_BYTES = 1_048_576;

/** A file that is being changed: what it has of its first `size` bytes, and zeros where it became shorter. */
async function* firstBytes(file: Awaited<ReturnType<typeof open>>, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const part = Buffer.alloc(Math.min(PART_BYTES, size - at));
    const { bytesRead } = await file.read(part, 0, part.length, at);
    // What was cut off since is cut off again when the log is replayed.
    const length = bytesRead === 0 ? part.length : bytesRead;
    at += length;
    yield part.subarray(0, length);
  }
}

/**
 * Reads a file as it is now. Does nothing if it is gone, as a table that was dropped meanwhile. Throws AdminError if it
 * cannot be read, and what `use` throws.
 */
export async function readPresent(
  path: string,
  use: (size: number, content: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if (isMissing(error)) return;
    throw readError(path, error);
  }
  try {
    const { size } = await file.stat();
    await use(size, inWords(path, firstBytes(file, size)));
  } finally {
    await file.close();
  }
}

async function* inWords(path: string, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    throw readError(path, error);
  }
}
