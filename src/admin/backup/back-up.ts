import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { Client } from 'pg';
import { flushEntries } from '../../platform/db/embedded/flushed-files.ts';
import { EMBEDDED_MAJOR } from '../../platform/db/embedded/major-version.ts';
import type { Opened } from '../connection.ts';
import { AdminError } from '../output.ts';
import { type ArchiveWriter, readArchive, writeArchive } from './archive.ts';
import { clusterEntries, readPresent, walSegments } from './cluster-files.ts';
import type { Progress } from './progress.ts';

/** What DATA_DIR has besides the database, and no backup may lose: answers are stored and keys sealed under it. */
export const SECRET_FILES = ['secret-key', 'demo.json'];
/** In the archive: the database, and the other files. */
export const CLUSTER = 'postgres';
const BACKUP_RUNS = '55000';

export interface BackUpOptions {
  readonly file: string;
  readonly withSecretKey: boolean;
  readonly progress: Progress;
}

/** Where the write-ahead log that a backup needs begins (PostgreSQL, "backup_label"). */
function firstSegment(label: string): string {
  const segment = /^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)$/m.exec(label)?.[1];
  if (segment === undefined) throw new Error('the label of the backup has no start');
  return segment;
}

async function begin(client: Client): Promise<void> {
  try {
    await client.query(`SELECT pg_backup_start('content-graph-api', true)`);
  } catch (error) {
    if ((error as { code?: unknown }).code !== BACKUP_RUNS) throw error;
    throw new AdminError('Another backup is running. Wait until it has ended.');
  }
}

/** Copies the files of the database while it works, then the log of what has changed meanwhile. */
async function copyCluster(
  client: Client,
  folder: string,
  writer: ArchiveWriter,
  progress: Progress,
): Promise<void> {
  const copy = async (name: string) =>
    readPresent(join(folder, name), async (size, content) => {
      await writer.file(`${CLUSTER}/${name}`, size, content);
      progress.add(size);
    });
  await begin(client);
  await writer.folder(CLUSTER);
  for (const { name, isFolder } of await clusterEntries(folder))
    if (isFolder) await writer.folder(`${CLUSTER}/${name}`);
    else await copy(name);
  const { rows } = await client.query<{ label: string; last: string }>(
    'SELECT labelfile AS label, pg_walfile_name(lsn) AS last FROM pg_backup_stop(false)',
  );
  const [{ label, last } = { label: '', last: '' }] = rows;
  const text = Buffer.from(label);
  await writer.file(`${CLUSTER}/backup_label`, text.length, [text]);
  for (const segment of await walSegments(folder, firstSegment(label), last)) await copy(`pg_wal/${segment}`);
}

function checkTarget(file: string, dataDir: string): void {
  if (existsSync(file)) throw new AdminError(`"${file}" exists. Name a new file.`);
  const folder = statSync(dirname(file), { throwIfNoEntry: false });
  if (folder?.isDirectory() !== true)
    throw new AdminError(`The folder of "${file}" does not exist. Create it.`);
  if (!relative(resolve(dataDir), file).startsWith('..'))
    throw new AdminError(`"${file}" is in DATA_DIR and would be lost with it. Name a file elsewhere.`);
}

/**
 * Writes a backup of the embedded database to a new file, beside a running server, and reads it back. An interrupted one
 * leaves a file with another name. Throws AdminError, DatabaseError, and the errors of the file system.
 */
export async function backUp({ database, config }: Opened, options: BackUpOptions) {
  if (config.database.kind !== 'embedded')
    throw new AdminError(
      'DATABASE_URL is set, and this command backs up the embedded database: use pg_dump or pg_basebackup (docs/backup.md).',
    );
  const file = resolve(options.file);
  const { dataDir } = config.database;
  checkTarget(file, dataDir);
  const { progress } = options;
  const beganMs = performance.now();
  const draft = `${file}.${process.pid}.part`;
  const client = await database.dedicatedClient();
  try {
    progress.step('copying');
    const about = { createdAt: new Date().toISOString(), postgresMajor: EMBEDDED_MAJOR };
    const manifest = await writeArchive(draft, about, async (writer) => {
      for (const name of options.withSecretKey ? SECRET_FILES : []) {
        const path = join(dataDir, name);
        if (!existsSync(path)) continue;
        const content = await readFile(path);
        await writer.file(name, content.length, [content]);
      }
      await copyCluster(client, join(dataDir, 'postgres'), writer, progress);
    });
    progress.step('reading back');
    const read = await readArchive(draft, {
      folder: async () => undefined,
      async file(_name, content) {
        for await (const part of content) progress.add(part.length);
      },
    });
    if (JSON.stringify(read) !== JSON.stringify(manifest))
      throw new AdminError(`"${file}" was written and reads differently: check its disk.`);
    checkTarget(file, dataDir);
    renameSync(draft, file);
    flushEntries(dirname(file));
    const sizes = Object.values(manifest.files);
    return {
      file,
      bytes: statSync(file).size,
      databaseBytes: sizes.reduce((sum, { size }) => sum + size, 0),
      files: sizes.length,
      secretKey: 'secret-key' in manifest.files,
      seconds: Math.round((performance.now() - beganMs) / 100) / 10,
    };
  } finally {
    rmSync(draft, { force: true });
    await client.end();
    progress.end();
  }
}
