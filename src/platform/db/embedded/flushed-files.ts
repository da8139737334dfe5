import { chmodSync, closeSync, fchmodSync, fsyncSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';

/** EIO as WASI numbers it: PostgreSQL panics on it, as it has to, and recovers from what is on the disk. */
const EIO = 29;

/** Emscripten's file system over Node's, as far as it matters here. `nfd` is Node's descriptor of an open file. */
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

/** PGlite's files in a folder, with the one call it leaves out: an fsync of PostgreSQL's reaches the disk. */
export class FlushedFiles extends NodeFS {
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

/** Flushes the entries of a folder: what was made or renamed in it keeps its name. Windows flushes no folders. */
export function flushEntries(folder: string): void {
  if (process.platform !== 'win32') onDescriptor(folder, 'r', fsyncSync);
}

/** Flushes a folder with all that is in it, for its owner alone: PGlite makes files that anybody may write to. */
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
