import {
  chmodSync,
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';

/** WASI's number for EIO. PostgreSQL panics on it, as it must, and recovers from what is on disk. */
const EIO = 29;

/** The part of Emscripten's NODEFS that is used here. `nfd` is Node's file descriptor. */
interface NodeFiles {
  readonly stream_ops: { fsync?: (stream: { readonly nfd: number }) => number };
}

function flush(descriptor: number): number {
  try {
    fsyncSync(descriptor);
    return 0;
  } catch {
    return EIO;
  }
}

/** PGlite's NodeFS plus the missing fsync, so that PostgreSQL's flushes reach the disk. */
class FlushedFiles extends NodeFS {
  override async init(pg: PGlite, options: Parameters<NodeFS['init']>[1]): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(pg, options);
    const install = (module: { FS: { filesystems: { NODEFS: NodeFiles } } }) => {
      module.FS.filesystems.NODEFS.stream_ops.fsync = ({ nfd }) => flush(nfd);
    };
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), install] } };
  }
}

function onDescriptor(path: string, flags: string, work: (descriptor: number) => void): void {
  const descriptor = openSync(path, flags);
  try {
    work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Flushes a folder's entries, so that created and renamed files keep their names. Windows cannot do this. */
export function flushEntries(folder: string): void {
  if (process.platform !== 'win32') onDescriptor(folder, 'r', fsyncSync);
}

/** Flushes a folder recursively and makes it private: PGlite creates world-writable files. */
export function settleFolder(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) settleFolder(path);
    else
      onDescriptor(path, 'r+', (descriptor) => {
        fchmodSync(descriptor, 0o600);
        fsyncSync(descriptor);
      });
  }
  flushEntries(folder);
}

/** PGlite turns fsync off, and the default wal_sync_method, fdatasync, does not exist in its runtime. */
const FLUSHED = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  '-c',
  'fsync=on',
  '-c',
  'wal_sync_method=fsync',
];

/** Creates the folder atomically. A process that crashes leaves a draft, which the next one replaces. */
async function createCluster(folder: string): Promise<void> {
  const draft = `${folder}.new`;
  rmSync(draft, { recursive: true, force: true });
  const db = await PGlite.create(draft);
  await db.close();
  settleFolder(draft);
  renameSync(draft, folder);
  flushEntries(dirname(folder));
}

/**
 * Opens the PostgreSQL data in a folder, or creates it. A commit is flushed to disk before it is answered.
 */
export async function openCluster(folder: string): Promise<PGlite> {
  if (!existsSync(folder)) await createCluster(folder);
  return PGlite.create({ fs: new FlushedFiles(folder), startParams: FLUSHED });
}
