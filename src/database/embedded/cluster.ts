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

/**
 * WASI's number for EIO. PostgreSQL panics after EIO of fsync, as it must, and recovers from the data on
 * disk.
 */
const EIO = 29;

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

/** Created and renamed files keep their names after a power failure. Windows cannot flush a directory. */
export function flushEntries(directory: string): void {
  if (process.platform !== 'win32') onDescriptor(directory, 'r', fsyncSync);
}

/** PGlite creates world-writable files. */
export function secureAndFlushDirectory(directory: string): void {
  chmodSync(directory, 0o700);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) secureAndFlushDirectory(path);
    else
      onDescriptor(path, 'r+', (descriptor) => {
        fchmodSync(descriptor, 0o600);
        fsyncSync(descriptor);
      });
  }
  flushEntries(directory);
}

/** PGlite turns fsync off, and the default wal_sync_method, fdatasync, does not exist in its runtime. */
const FLUSHED = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  '-c',
  'fsync=on',
  '-c',
  'wal_sync_method=fsync',
];

/** A process that crashes leaves a draft, which the next start replaces. */
async function createCluster(directory: string): Promise<void> {
  const draft = `${directory}.new`;
  rmSync(draft, { recursive: true, force: true });
  const db = await PGlite.create(draft);
  await db.close();
  secureAndFlushDirectory(draft);
  renameSync(draft, directory);
  flushEntries(dirname(directory));
}

/** A commit is flushed to disk before the database responds. */
export async function openCluster(directory: string): Promise<PGlite> {
  if (!existsSync(directory)) await createCluster(directory);
  return PGlite.create({ fs: new FlushedFiles(directory), startParams: FLUSHED });
}
