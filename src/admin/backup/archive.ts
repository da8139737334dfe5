import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { extract, type Headers, pack } from 'tar-stream';
import { z } from 'zod';
import { AdminError } from '../output.ts';

/**
 * A backup is a tar file compressed with Zstandard. Its last entry lists all others with their sizes and sums: an archive
 * without it was cut off.
 */
const MANIFEST = 'content-graph-backup.json';
const FORMAT = 1;

const manifestForm = z.object({
  format: z.literal(FORMAT),
  createdAt: z.string(),
  /** The major version of PostgreSQL. */
  postgresMajor: z.string(),
  /** SHA-256 in hexadecimal, by the name of the file. */
  files: z.record(z.string(), z.object({ size: z.number(), sha256: z.string() })),
});

export type Manifest = Readonly<z.infer<typeof manifestForm>>;

/** ustar has room for so much of a name without extensions; no file of PostgreSQL has a longer one. */
const MAX_NAME_BYTES = 99;
/** PostgreSQL's files are of letters, digits, dots and underscores. */
const NAME = /^(?!\.)[\w.-]+(\/(?!\.)[\w.-]+)*$/;
const MAX_MANIFEST_BYTES = 67_108_864;
const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;
/** Fast: the data is written beside a server that needs the CPU. */
const LEVEL = 1;

type Parts = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

async function* hashed(
  content: Parts,
  hash: Hash,
  count?: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const part of content) {
    hash.update(part);
    count?.(part.length);
    yield part;
  }
}

/** Writes an archive, an entry after the other. */
export interface ArchiveWriter {
  folder(name: string): Promise<void>;
  /** `content` has exactly `size` bytes. */
  file(name: string, size: number, content: Parts): Promise<void>;
}

/**
 * Writes an archive to a new file with what `fill` gives it, and flushes it to the disk. Returns its manifest. Throws what
 * `fill` throws, and the errors of the file.
 */
export async function writeArchive(
  path: string,
  about: Pick<Manifest, 'createdAt' | 'postgresMajor'>,
  fill: (writer: ArchiveWriter) => Promise<void>,
): Promise<Manifest> {
  const tar = pack();
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });
  const file = createWriteStream(path, { flags: 'wx', mode: PRIVATE_FILE, flush: true });
  const written = pipeline(tar, compress, file);
  const files: Record<string, { size: number; sha256: string }> = {};

  async function entry(name: string, size: number, content: Parts): Promise<string> {
    const hash = createHash('sha256');
    await pipeline(hashed(content, hash), tar.entry({ name, size, mode: PRIVATE_FILE }));
    return hash.digest('hex');
  }

  const work = async () => {
    await fill({
      async folder(name) {
        await new Promise<void>((resolve, reject) =>
          tar.entry({ name, type: 'directory', mode: PRIVATE_FOLDER }, (error) =>
            error ? reject(error) : resolve(),
          ),
        );
      },
      async file(name, size, content) {
        files[name] = { size, sha256: await entry(name, size, content) };
      },
    });
    const manifest: Manifest = { format: FORMAT, ...about, files };
    const text = Buffer.from(JSON.stringify(manifest));
    await entry(MANIFEST, text.length, [text]);
    tar.finalize();
    return manifest;
  };
  try {
    // A full disk ends the work, which would wait for ever for its turn to write.
    const [manifest] = await Promise.all([Promise.race([work(), written.then(() => never())]), written]);
    return manifest;
  } catch (error) {
    tar.destroy();
    await written.catch(() => undefined);
    throw error;
  }
}

const never = () => new Promise<never>(() => undefined);

const damaged = (path: string, why: string) =>
  new AdminError(`"${path}" is not a whole backup: ${why}. Nothing was restored from it.`);

/** What is read from an archive. */
export interface ArchiveReader {
  folder(name: string): Promise<void>;
  /** Has to read all of `content`. */
  file(name: string, content: AsyncIterable<Uint8Array>): Promise<void>;
}

function checkEntry(path: string, { name, type, size }: Headers): void {
  const plain = name.endsWith('/') && type === 'directory' ? name.slice(0, -1) : name;
  if (type !== 'file' && type !== 'directory')
    throw damaged(path, `its entry ${JSON.stringify(name)} is neither a file nor a folder`);
  if (!NAME.test(plain))
    throw damaged(path, `its entry ${JSON.stringify(name)} has a name that no backup has`);
  if (Buffer.byteLength(plain) > MAX_NAME_BYTES)
    throw damaged(path, `its entry "${name.slice(0, MAX_NAME_BYTES)}…" has too long a name`);
  if (name === MANIFEST && (size ?? 0) > MAX_MANIFEST_BYTES) throw damaged(path, 'its list is too long');
}

async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

function manifestOf(path: string, text: string): Manifest {
  try {
    return manifestForm.parse(JSON.parse(text));
  } catch {
    throw damaged(path, 'its list cannot be read, or is of a later version');
  }
}

/**
 * Reads an archive through `reader` and compares all of it with its list. Throws AdminError if it is not whole, holds
 * anything but files and folders, or a name that leads elsewhere.
 */
export async function readArchive(path: string, reader: ArchiveReader): Promise<Manifest> {
  const tar = extract();
  const found = new Map<string, { size: number; sha256: string }>();
  let manifest: Manifest | undefined;

  const read = pipeline(createReadStream(path), createZstdDecompress(), tar);
  const work = async () => {
    for await (const content of tar) {
      const { header } = content;
      checkEntry(path, header);
      if (manifest !== undefined) throw damaged(path, 'something follows its list');
      if (header.type === 'directory') {
        await reader.folder(header.name.replace(/\/$/, ''));
        content.resume();
        continue;
      }
      if (header.name === MANIFEST) {
        manifest = manifestOf(path, await textOf(content));
        continue;
      }
      if (found.has(header.name)) throw damaged(path, `it has "${header.name}" twice`);
      const hash = createHash('sha256');
      let size = 0;
      await reader.file(
        header.name,
        hashed(content, hash, (bytes) => {
          size += bytes;
        }),
      );
      found.set(header.name, { size, sha256: hash.digest('hex') });
    }
  };
  try {
    await Promise.all([work(), read]);
  } catch (error) {
    tar.destroy();
    await read.catch(() => undefined);
    throw error instanceof AdminError || isOfSystem(error) ? error : damaged(path, 'it cannot be unpacked');
  }
  if (manifest === undefined) throw damaged(path, 'its end is missing');
  const { files } = manifest;
  for (const name of new Set([...Object.keys(files), ...found.keys()])) {
    const { size, sha256 } = found.get(name) ?? {};
    if (files[name]?.size !== size || files[name]?.sha256 !== sha256)
      throw damaged(path, `its file "${name}" differs from its list`);
  }
  return manifest;
}

/** Such as a file that is missing, or a full disk; Zstandard's errors have other codes. */
function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
