import { constants, cpSync, existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../operator-error.ts';
import { migrateLike } from '../migrate.ts';
import { DEFAULT_SCHEMA, settingsSql } from '../session-settings.ts';
import { type CopiedTable, copyDatabase, type Progress } from '../transfer/copy-database.ts';
import { type Engine, onEngine } from '../transfer/engine-side.ts';
import { openCluster } from './cluster.ts';
import { flushEntries, settleFolder } from './flushed-files.ts';
import { checkDiskSpace, securePrivateFolder } from './folder.ts';
import { lockFolder } from './lock.ts';
import { EMBEDDED_MAJOR, foldersOf, majorOf, refuseNoDatabase, refuseOtherMajor } from './major-version.ts';
import { isOldMajor, loadOldEngine, OLD_MAJORS, type OldMajor } from './old-engines.ts';

/** What an upgrade has done. */
export interface Upgrade {
  /** The major version that has written the data, and the present one. */
  readonly from: string;
  readonly to: string;
  /** The folder with the data of before; undefined where there was nothing to do. */
  readonly kept: string | undefined;
  /** What was copied; undefined where an interrupted upgrade had copied it, or there was nothing to do. */
  readonly tables: readonly CopiedTable[] | undefined;
}

/** The old data is copied to be read, and written anew. */
const COPIES = 2;

function bytesOf(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(folder, name)).size)
    .reduce((sum, size) => sum + size, 0);
}

/** Both as the service's own connections: equal rows have equal texts. */
async function begin(engine: Engine) {
  const side = onEngine(engine);
  await side.rows(settingsSql({ schema: DEFAULT_SCHEMA }));
  await side.rows('BEGIN');
  return { side, schema: DEFAULT_SCHEMA };
}

/** Copies what is in the folder `from`, which the old engine may change, into a new folder. */
async function copyFolder(
  open: (folder: string) => Promise<Engine>,
  [from, to]: readonly [string, string],
  progress: Progress | undefined,
): Promise<CopiedTable[]> {
  const old = await open(from);
  try {
    const present = await openCluster(to);
    try {
      const [source, target] = [await begin(old), await begin(present)];
      // What newer versions have added comes with the next start, as after any other.
      await migrateLike(target.side, target.schema, source.side);
      const tables = await copyDatabase({ source, target, progress });
      await target.side.rows('COMMIT');
      return tables;
    } finally {
      await present.close();
    }
  } finally {
    await old.close();
  }
}

/** Gives the upgraded data its name. Before that there is no database: a start refuses the folder, and this finishes. */
function swap(dataDir: string, from: OldMajor): Pick<Upgrade, 'from' | 'to' | 'kept'> {
  const { data, upgraded, kept } = foldersOf(dataDir);
  if (existsSync(data)) renameSync(data, kept(from));
  flushEntries(dataDir);
  renameSync(upgraded, data);
  flushEntries(dataDir);
  return { from, to: EMBEDDED_MAJOR, kept: kept(from) };
}

/** The version whose data can be moved; undefined if it is the present one. Throws OperatorError for any other. */
function oldMajor(dataDir: string): OldMajor | undefined {
  const { data, kept } = foldersOf(dataDir);
  const from = majorOf(data);
  if (from === EMBEDDED_MAJOR) return undefined;
  if (from === undefined)
    throw new OperatorError(`"${data}/PG_VERSION" is missing or damaged: restore the folder from a backup.`);
  if (!isOldMajor(from)) {
    refuseOtherMajor(dataDir);
    return undefined;
  }
  if (existsSync(kept(from)))
    throw new OperatorError(
      `"${kept(from)}", where the data of before is kept, exists: move it somewhere else, then run the command again.`,
    );
  return from;
}

async function upgradeLocked(dataDir: string, progress: Progress | undefined): Promise<Upgrade> {
  const { data, upgraded, draft, copy, kept } = foldersOf(dataDir);
  if (!existsSync(data)) {
    const moved = OLD_MAJORS.find((major) => existsSync(kept(major)));
    if (moved === undefined)
      throw new OperatorError(
        `"${data}" is missing, and so is what "${upgraded}" was made of: restore the folder from a backup.`,
      );
    return { ...swap(dataDir, moved), tables: undefined };
  }
  const from = oldMajor(dataDir);
  if (from === undefined)
    return { from: EMBEDDED_MAJOR, to: EMBEDDED_MAJOR, kept: undefined, tables: undefined };
  const open = await loadOldEngine(from);
  rmSync(upgraded, { recursive: true, force: true });
  checkDiskSpace(dataDir, COPIES * bytesOf(data));
  // The old engine writes to what it opens.
  cpSync(data, copy, { recursive: true, mode: constants.COPYFILE_FICLONE });
  const tables = await copyFolder(open, [copy, draft], progress);
  settleFolder(draft);
  renameSync(draft, upgraded);
  flushEntries(dataDir);
  return { ...swap(dataDir, from), tables };
}

/**
 * Moves the database in the folder from an older major version of PostgreSQL to the present one. The old data is kept
 * beside it. If it is interrupted, either the old or the new data is whole, and another call finishes. Throws
 * OperatorError, FolderInUseError, UnsafeFolderError, UnusableFolderError, TransferError, MigrationError.
 */
export async function upgradeFolder(
  dataDir: string,
  { strict, progress }: { readonly strict: boolean; readonly progress?: Progress },
): Promise<Upgrade> {
  refuseNoDatabase(dataDir);
  securePrivateFolder(dataDir, { strict });
  const lock = lockFolder(dataDir);
  const { draft, copy } = foldersOf(dataDir);
  const sweep = () => {
    for (const folder of [draft, copy]) rmSync(folder, { recursive: true, force: true });
  };
  try {
    sweep();
    return await upgradeLocked(dataDir, progress);
  } finally {
    sweep();
    lock.release();
  }
}
