import { mkdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { folderError, toMebibytes } from '../../platform/db/embedded/folder-error.ts';
import { freeBytes } from '../../platform/db/embedded/folder-watch.ts';
import { EMBEDDED_MAJOR } from '../../platform/db/embedded/major-version.ts';
import { AdminError } from '../output.ts';
import type { Progress } from '../progress.ts';
import { damaged, type Manifest } from './archive-form.ts';
import { readArchive } from './archive-reader.ts';
import { CLUSTER, LABEL, SECRET_FILES } from './back-up.ts';
import { DRAFT, draftOf } from './restored-folder.ts';

/** Without these, PostgreSQL would begin a new database, or take an unfinished state for whole. */
const NEEDED = [`${CLUSTER}/PG_VERSION`, `${CLUSTER}/global/pg_control`, LABEL];

/** For the log that the recovery and migrations write. */
const RECOVERY_BYTES = 67_108_864;

/** Throws AdminError if the disk has no room for a file, and for the recovery. */
function checkRoom(dataDir: string, size: number): void {
  const free = freeBytes(dataDir);
  if (free !== undefined && free < size + RECOVERY_BYTES)
    throw new AdminError(
      `The disk of DATA_DIR "${dataDir}" is too small for the backup: it has ${toMebibytes(free)} MiB left. Free some space, or restore into a folder elsewhere.`,
    );
}

/** Runs `work` on a file in DATA_DIR. Throws UnusableFolderError. */
async function inFolder<T>(dataDir: string, work: () => Promise<T> | T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw folderError(dataDir, error);
  }
}

/** Throws AdminError if what was unpacked cannot become a database of this version. */
function check(file: string, { postgresMajor, files }: Manifest): void {
  if (postgresMajor !== EMBEDDED_MAJOR)
    throw new AdminError(
      `"${file}" is of PostgreSQL ${postgresMajor}, and this version of the service contains PostgreSQL ${EMBEDDED_MAJOR}: restore it with the version that has written it, then run "admin upgrade".`,
    );
  const missing = NEEDED.find((name) => !(name in files));
  if (missing !== undefined) throw damaged(file, `it lacks "${missing}"`);
}

/**
 * Unpacks an archive: the database into the folder DRAFT, which exists, the other files beside it. Throws AdminError,
 * UnusableFolderError.
 */
export async function unpack(file: string, dataDir: string, progress: Progress): Promise<Manifest> {
  const placeOf = (name: string): string => {
    if (name.startsWith(`${CLUSTER}/`)) return join(dataDir, DRAFT, name.slice(CLUSTER.length + 1));
    if (SECRET_FILES.includes(name)) return draftOf(dataDir, name);
    throw damaged(file, `its entry "${name}" is in no backup`);
  };
  const manifest = await readArchive(file, {
    async folder(name) {
      if (name === CLUSTER) return;
      const place = placeOf(name);
      await inFolder(dataDir, () => mkdirSync(place, { mode: 0o700 }));
    },
    async file(name, size, content) {
      const place = placeOf(name);
      checkRoom(dataDir, size);
      const target = await inFolder(dataDir, () => open(place, 'wx', 0o600));
      try {
        for await (const part of content) {
          await inFolder(dataDir, () => target.writeFile(part));
          progress.add(part.length);
        }
        // Those of the database are flushed once it has recovered.
        if (!name.startsWith(`${CLUSTER}/`)) await inFolder(dataDir, () => target.sync());
      } finally {
        await target.close();
      }
    },
  });
  check(file, manifest);
  return manifest;
}
