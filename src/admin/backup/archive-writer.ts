import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { pack } from 'tar-stream';
import { FORMAT, hashed, MANIFEST, type Manifest, type ManifestFile, type Parts } from './archive-form.ts';
import { writeError } from './file-error.ts';

const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;
const COMPRESSION = {
  // Fast: the data is written beside a server that needs the CPU.
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_checksumFlag]: 1,
};

/** Writes an archive, an entry after the other. */
export interface ArchiveWriter {
  folder(name: string): Promise<void>;
  /** `content` has exactly `size` bytes. */
  file(name: string, size: number, content: Parts): Promise<void>;
}

const never = () => new Promise<never>(() => undefined);

/**
 * Writes an archive to a new file with what `fill` gives it, and flushes it to the disk. Returns its manifest. Throws what
 * `fill` throws, and AdminError if the file cannot be written; it is left as it is then.
 */
export async function writeArchive(
  path: string,
  about: Pick<Manifest, 'createdAt' | 'postgresMajor'>,
  fill: (writer: ArchiveWriter) => Promise<void>,
): Promise<Manifest> {
  const tar = pack();
  const file = createWriteStream(path, { flags: 'wx', mode: PRIVATE_FILE, flush: true });
  const written = pipeline(tar, createZstdCompress({ params: COMPRESSION }), file);
  const files: Record<string, ManifestFile> = {};

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
    const [manifest] = await Promise.all([Promise.race([work(), written.then(never)]), written]);
    return manifest;
  } catch (error) {
    tar.destroy();
    await written.catch(() => undefined);
    throw writeError(path, error);
  }
}
