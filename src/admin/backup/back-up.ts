import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import type { Client } from 'pg';
import { flushEntries } from '../../platform/db/embedded/flushed-files.ts';
import { folderProblem } from '../../platform/db/embedded/folder-watch.ts';
import { EMBEDDED_MAJOR } from '../../platform/db/embedded/major-version.ts';
import { embeddedFolder, type Given } from '../connection.ts';
import { AdminError } from '../output.ts';
import type { Progress } from '../progress.ts';
import type { Manifest } from './archive-form.ts';
import { readArchive } from './archive-reader.ts';
import { type ArchiveWriter, writeArchive } from './archive-writer.ts';
import { clusterEntries, readPresent, walSegments } from './cluster-files.ts';
import { writeError } from './file-error.ts';

/** What DATA_DIR has besides the database: the secret that OAuth signing keys are sealed under, and that of the demo. */
export const SECRET_FILES = ['secret-key', 'demo.json'];
/** The database in the archive, and in DATA_DIR. */
export const CLUSTER = 'postgres';
/** Where PostgreSQL recovers from. Without it, it would take the copy for whole. */
export const LABEL = `${CLUSTER}/backup_label`;
/** object_not_in_prerequisite_state: a backup runs already, or none does. */
const NOT_NOW = '55000';

export interface BackUpOptions extends Given {
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

interface Stopped {
  readonly label: string;
  readonly last: string;
}

/** Throws AdminError with `otherwise` if the state of the database forbids it. */
async function query<Row extends object>(client: Client, sql: string, otherwise: string): Promise<Row[]> {
  try {
    return (await client.query<Row>(sql)).rows;
  } catch (error) {
    throw (error as { code?: unknown }).code === NOT_NOW ? new AdminError(otherwise) : error;
  }
}

const start = (client: Client) =>
  query(
    client,
    `SELECT pg_backup_start('content-graph-api', true)`,
    'Another backup is running. Wait until it has ended.',
  );

/** What the label of the backup says, and the last segment of the log that it needs. */
async function stop(client: Client): Promise<Stopped> {
  const [stopped] = await query<Stopped>(
    client,
    // Of the last byte: where the log ends with a segment, the next one may not exist.
    'SELECT labelfile AS label, pg_walfile_name(lsn - 1) AS last FROM pg_backup_stop(false)',
    'Another connection has ended the backup. Run the command again.',
  );
  if (stopped === undefined) throw new Error('the backup has no label');
  return stopped;
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
  await start(client);
  await writer.folder(CLUSTER);
  for (const { name, isFolder } of await clusterEntries(folder))
    if (isFolder) await writer.folder(`${CLUSTER}/${name}`);
    else await copy(name);
  const { label, last } = await stop(client);
  const text = Buffer.from(label);
  await writer.file(LABEL, text.length, [text]);
  const first = firstSegment(label);
  for (const segment of await walSegments(folder, first, last)) await copy(`pg_wal/${segment}`);
  // They are still there, so none was renamed and written anew while it was read.
  await walSegments(folder, first, last);
}

/** Throws AdminError where no backup can be written. */
function checkTarget(file: string, dataDir: string): void {
  try {
    if (lstatSync(file, { throwIfNoEntry: false }) !== undefined)
      throw new AdminError(`"${file}" exists. Name a new file.`);
    const folder = statSync(dirname(file), { throwIfNoEntry: false });
    if (folder?.isDirectory() !== true)
      throw new AdminError(`The folder of "${file}" does not exist. Create it.`);
    const [top] = relative(realpathSync(dataDir), join(realpathSync(dirname(file)), basename(file))).split(
      sep,
    );
    // On Windows, the path to another drive begins with that.
    if (top !== '..' && !/^\w:$/.test(top ?? ''))
      throw new AdminError(`"${file}" is in DATA_DIR and would be lost with it. Name a file elsewhere.`);
  } catch (error) {
    throw writeError(file, error);
  }
}

/** Throws AdminError where opening the database would create it, or the checkpoint of a backup would fail. */
function checkSource(dataDir: string): void {
  if (!existsSync(join(dataDir, CLUSTER)))
    throw new AdminError(
      `DATA_DIR "${dataDir}" has no database to back up. Set it to the folder of the service.`,
    );
  const problem = folderProblem(dataDir);
  if (problem !== undefined)
    throw new AdminError(`A backup cannot begin: ${problem.reason}. To do: ${problem.check}.`);
}

/** Writes the file and reads it back. */
async function writeVerified(
  draft: string,
  dataDir: string,
  { open, file, withSecretKey, progress }: BackUpOptions,
): Promise<Manifest> {
  const { database } = await open();
  let manifest: Manifest;
  try {
    const client = await database.dedicatedClient();
    try {
      progress.step('copying');
      const about = { createdAt: new Date().toISOString(), postgresMajor: EMBEDDED_MAJOR };
      manifest = await writeArchive(draft, about, async (writer) => {
        for (const name of withSecretKey ? SECRET_FILES : [])
          await readPresent(join(dataDir, name), (size, content) => writer.file(name, size, content));
        await copyCluster(client, join(dataDir, CLUSTER), writer, progress);
      });
    } finally {
      // The database writes no checkpoint until then.
      await client.end();
    }
  } finally {
    await database.close();
  }
  progress.step('reading back');
  const read = await readArchive(draft, {
    folder: async () => undefined,
    async file(_name, _size, content) {
      for await (const part of content) progress.add(part.length);
    },
  });
  if (JSON.stringify(read) !== JSON.stringify(manifest))
    throw new AdminError(`"${file}" was written and reads differently: check its disk.`);
  return manifest;
}

/**
 * Writes a backup of the embedded database to a new file, beside a running server, and reads it back. Unless it is killed,
 * it leaves nothing behind when it fails; the file has another name until it is whole. Throws AdminError, DatabaseError.
 */
export async function backUp(options: BackUpOptions) {
  const { config, progress } = options;
  const dataDir = embeddedFolder(config, 'use pg_dump or pg_basebackup (docs/backup.md)');
  const file = resolve(options.file);
  checkSource(dataDir);
  checkTarget(file, dataDir);
  const beganMs = performance.now();
  const draft = `${file}.${randomUUID()}.part`;
  const discard = () => {
    if (existsSync(draft)) rmSync(draft);
  };
  // On SIGINT and SIGTERM, too.
  process.once('exit', discard);
  try {
    const manifest = await writeVerified(draft, dataDir, { ...options, file });
    checkTarget(file, dataDir);
    renameSync(draft, file);
    flushEntries(dirname(file));
    const sizes = Object.values(manifest.files).map(({ size }) => size);
    return {
      file,
      bytes: statSync(file).size,
      databaseBytes: sizes.reduce((sum, size) => sum + size, 0),
      files: sizes.length,
      secretKey: 'secret-key' in manifest.files,
      seconds: Math.round((performance.now() - beganMs) / 100) / 10,
    };
  } catch (error) {
    throw writeError(file, error);
  } finally {
    process.off('exit', discard);
    progress.end();
    discard();
  }
}
