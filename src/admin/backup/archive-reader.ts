import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { extract, type Headers } from 'tar-stream';
import { AdminError } from '../output.ts';
import {
  damaged,
  hashed,
  MANIFEST,
  type Manifest,
  type ManifestFile,
  parseManifest,
} from './archive-form.ts';
import { readError } from './file-error.ts';

/** ustar has room for so much of a name without extensions; no file of PostgreSQL has a longer one. */
const MAX_NAME_BYTES = 99;
/** PostgreSQL's files are of letters, digits, dots and underscores. */
const NAME = /^(?!\.)[\w.-]+(\/(?!\.)[\w.-]+)*$/;
/** PostgreSQL begins another file for what is longer. */
const MAX_FILE_BYTES = 1_073_741_824;
const MAX_MANIFEST_BYTES = 67_108_864;

/** What is read from an archive. */
export interface ArchiveReader {
  /** The one that it is in came before. */
  folder(name: string): Promise<void>;
  /** Has to read all of `content`. */
  file(name: string, size: number, content: AsyncIterable<Uint8Array>): Promise<void>;
}

function checkEntry(path: string, name: string, { type, size = 0 }: Headers): void {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES)
    throw damaged(path, `its entry ${JSON.stringify(name.slice(0, MAX_NAME_BYTES))}… has too long a name`);
  if (type !== 'file' && type !== 'directory')
    throw damaged(path, `its entry ${JSON.stringify(name)} is neither a file nor a folder`);
  if (!NAME.test(name))
    throw damaged(path, `its entry ${JSON.stringify(name)} has a name that no backup has`);
  if (size > (name === MANIFEST ? MAX_MANIFEST_BYTES : MAX_FILE_BYTES))
    throw damaged(path, `its entry "${name}" is larger than any file of a backup`);
}

async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

/** The archive's error: those of the reader and its own have words for the operator. */
function inWords(path: string, error: unknown): unknown {
  const readable = readError(path, error);
  return readable instanceof AdminError ? readable : damaged(path, 'it cannot be unpacked');
}

/** Throws AdminError where what was found differs from the list. */
function compare(path: string, { files }: Manifest, found: ReadonlyMap<string, ManifestFile>): void {
  for (const name of new Set([...Object.keys(files), ...found.keys()])) {
    const { size, sha256 } = found.get(name) ?? {};
    if (files[name]?.size !== size || files[name]?.sha256 !== sha256)
      throw damaged(path, `its file "${name}" differs from its list`);
  }
}

/**
 * Reads an archive through `reader`, which throws AdminError, and compares all of it with its list. Throws AdminError if
 * it is not whole, holds anything but files and folders, or a name that leads elsewhere.
 */
export async function readArchive(path: string, reader: ArchiveReader): Promise<Manifest> {
  const tar = extract();
  const found = new Map<string, ManifestFile>();
  const folders = new Set(['.']);
  let manifest: Manifest | undefined;

  const read = pipeline(createReadStream(path), createZstdDecompress(), tar);
  const work = async () => {
    for await (const content of tar) {
      const { header } = content;
      const isFolder = header.type === 'directory';
      const name = isFolder ? header.name.replace(/\/$/, '') : header.name;
      checkEntry(path, name, header);
      if (manifest !== undefined) throw damaged(path, 'something follows its list');
      if (found.has(name) || folders.has(name)) throw damaged(path, `it has "${name}" twice`);
      if (!folders.has(posix.dirname(name))) throw damaged(path, `it lacks the folder of "${name}"`);
      if (isFolder) {
        folders.add(name);
        await reader.folder(name);
        content.resume();
        continue;
      }
      if (name === MANIFEST) {
        manifest = parseManifest(path, await textOf(content));
        continue;
      }
      const hash = createHash('sha256');
      let size = 0;
      const parts = hashed(content, hash, (bytes) => {
        size += bytes;
      });
      await reader.file(name, header.size ?? 0, parts);
      found.set(name, { size, sha256: hash.digest('hex') });
    }
  };
  const working = work();
  try {
    await Promise.all([working, read]);
  } catch (error) {
    tar.destroy();
    // The caller removes what it has written.
    await Promise.allSettled([working, read]);
    throw inWords(path, error);
  }
  if (manifest === undefined) throw damaged(path, 'its end is missing');
  compare(path, manifest, found);
  return manifest;
}
