import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline as connect } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { z } from 'zod';
import { adviceOf } from '../../database/embedded/data-dir.ts';
import {
  type Contents,
  type CopyPiece,
  contentsForm,
  Digests,
  type TableDigest,
} from '../../database/transfer/snapshot.ts';
import { build } from '../../platform/process.ts';
import { AdminError } from '../cli/output.ts';

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error;

/** @returns `error` unchanged unless the operating system reported it. */
export const writeError = (path: string, error: unknown): unknown =>
  isSystemError(error)
    ? new AdminError(`"${path}" cannot be written: ${adviceOf(error)} (${error.message}).`, { cause: error })
    : error;

const readError = (path: string, error: unknown): unknown =>
  isSystemError(error)
    ? new AdminError(
        `"${path}" cannot be read (${error.message}). Check the permissions of the file and the disk.`,
        {
          cause: error,
        },
      )
    : error;

/** docs/operate/backup.md describes the format. Format 1, of version 1.0.0, is a tar archive. */
const FORMAT = 2;
/** Files of DATA_DIR in a backup: the secret that replaces an unset SECRET_KEY, and the demo credentials. */
export const SECRET_FILES = ['secret-key', 'demo.json'] as const;

const headForm = z.object({
  format: z.literal(FORMAT),
  version: z.string(),
  createdAt: z.string(),
  files: z.partialRecord(z.enum(SECRET_FILES), z.string()),
  ...contentsForm.shape,
});
export type BackupHead = Readonly<z.infer<typeof headForm>>;

/** `files` are the contents of SECRET_FILES. */
export const createHead = (contents: Contents, files: BackupHead['files']): BackupHead => ({
  format: FORMAT,
  version: build().version,
  createdAt: new Date().toISOString(),
  files,
  ...contents,
});

/** PostgreSQL limits a row to 1 GiB. */
const MAX_PIECE_BYTES = 1_073_741_824;
const MAX_LINE_BYTES = 16_777_216;
const lineForm = z.union([
  z.object({ table: z.string(), bytes: z.int().min(1).max(MAX_PIECE_BYTES) }),
  z.object({ sha256: z.string() }),
]);
/** Every format has these properties in its first line. */
const anyForm = z.object({ format: z.number(), version: z.string() });

const COMPRESSION = {
  // The lowest level, because requests to the embedded database wait during the backup.
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_checksumFlag]: 1,
};
const CHUNK_BYTES = 1_048_576;

/** `sha256` covers everything before the last line of the backup. */
export interface BackupEnd {
  readonly tables: Readonly<Record<string, TableDigest>>;
  readonly sha256: string;
}

/**
 * Only the owner can read the new file.
 * @returns the last line.
 * @throws {AdminError} if the file cannot be written. The caller deletes the incomplete file.
 */
export async function writeBackup(
  path: string,
  head: BackupHead,
  pieces: AsyncIterable<CopyPiece>,
): Promise<BackupEnd> {
  const hash = createHash('sha256');
  const digests = new Digests();
  let end: BackupEnd = { tables: {}, sha256: '' };
  const addToHash = (part: string | Uint8Array) => {
    hash.update(part);
    return part;
  };
  async function* content() {
    yield addToHash(`${JSON.stringify(head)}\n`);
    for await (const piece of pieces) {
      const { table, data } = piece;
      digests.add(piece);
      yield addToHash(`${JSON.stringify({ table, bytes: data.length })}\n`);
      yield addToHash(data);
    }
    const tables = Object.fromEntries(head.tables.map(({ name }) => [name, digests.get(name)]));
    end = { tables, sha256: hash.digest('hex') };
    yield `${JSON.stringify(end)}\n`;
  }
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true });
  try {
    await pipeline(content, createZstdCompress({ params: COMPRESSION, chunkSize: CHUNK_BYTES }), file);
  } catch (error) {
    throw writeError(path, error);
  }
  return end;
}

/** `content` is unreadable data. A tar archive has "ustar" in its first block. */
const createDamagedError = (path: string, why: string, content = Buffer.alloc(0)) =>
  new AdminError(
    content.toString('latin1', 257, 262) === 'ustar'
      ? `"${path}" is a tar archive, the backup format of version 1.0.0. Nothing was restored. Restore the archive with version 1.0.0 ("npm run -s admin -- restore FILE"), then start this version on that DATA_DIR.`
      : `"${path}" is not a complete backup: ${why}. Nothing was restored. Use another backup.`,
  );

function createParser(path: string, content: AsyncIterable<Buffer>) {
  const source = content[Symbol.asyncIterator]();
  const hash = createHash('sha256');
  let rest: Buffer = Buffer.alloc(0);

  async function next(): Promise<Buffer | undefined> {
    try {
      const { done, value } = await source.next();
      return done === true ? undefined : value;
    } catch (error) {
      const readable = readError(path, error);
      throw readable instanceof AdminError
        ? readable
        : createDamagedError(path, 'the file cannot be decompressed');
    }
  }

  async function fill(isEnough: (bytes: number, chunk: Buffer) => boolean): Promise<void> {
    const chunks = [rest];
    for (let bytes = rest.length, last = rest; !isEnough(bytes, last); bytes += last.length) {
      const chunk = await next();
      if (chunk === undefined)
        throw createDamagedError(path, 'the end of the file is missing', Buffer.concat(chunks));
      chunks.push(chunk);
      last = chunk;
    }
    rest = Buffer.concat(chunks);
  }

  function take(bytes: number): Buffer {
    const taken = rest.subarray(0, bytes);
    rest = rest.subarray(bytes);
    return taken;
  }

  return {
    async bytes(count: number): Promise<Buffer> {
      await fill((bytes) => bytes >= count);
      const taken = take(count);
      hash.update(taken);
      return taken;
    },
    /** @returns the next line, and the SHA-256 of everything before. */
    async line(): Promise<{ readonly json: unknown; readonly before: string }> {
      await fill((bytes, chunk) => bytes > MAX_LINE_BYTES || chunk.includes('\n'));
      const line = take(rest.indexOf('\n') + 1);
      const before = hash.copy().digest('hex');
      hash.update(line);
      try {
        return { json: JSON.parse(line.toString('utf8')), before };
      } catch {
        throw createDamagedError(path, 'a line is not JSON', Buffer.concat([line, rest]));
      }
    },
    isAtEnd: async (): Promise<boolean> => rest.length === 0 && (await next()) === undefined,
  };
}

function parseHead(path: string, json: unknown): BackupHead {
  const any = anyForm.safeParse(json).data;
  if (any !== undefined && any.format !== FORMAT)
    throw new AdminError(
      `"${path}" has format ${any.format}, but this version of the service reads format ${FORMAT}. Nothing was restored. Restore the backup with version ${any.version} or a later one.`,
    );
  const { data } = headForm.safeParse(json);
  if (data === undefined) throw createDamagedError(path, 'the first line is not the header of a backup');
  return data;
}

async function* readPieces(
  path: string,
  parser: ReturnType<typeof createParser>,
  end: (sha256: string) => void,
): AsyncGenerator<CopyPiece> {
  for (;;) {
    const { json, before } = await parser.line();
    const { data: line } = lineForm.safeParse(json);
    if (line === undefined) throw createDamagedError(path, 'a line has an unknown format');
    if ('sha256' in line) {
      if (line.sha256 !== before) throw createDamagedError(path, 'the content does not match the checksum');
      if (!(await parser.isAtEnd())) throw createDamagedError(path, 'data follows the end of the backup');
      end(before);
      return;
    }
    yield { table: line.table, data: await parser.bytes(line.bytes) };
  }
}

export interface OpenedBackup {
  readonly head: BackupHead;
  /** The caller must read all pieces, because the check of the whole file follows the last piece. */
  readonly pieces: AsyncIterable<CopyPiece>;
}

/**
 * Needs bounded memory.
 * @returns the result of `work`, and the SHA-256 of the file.
 * @throws {AdminError} if the file cannot be read, or is not a complete backup of this format.
 */
export async function readBackup<T>(
  path: string,
  work: (backup: OpenedBackup) => Promise<T>,
): Promise<{ readonly result: T; readonly sha256: string }> {
  const decompress = createZstdDecompress({ chunkSize: CHUNK_BYTES });
  // The parser gets the errors of both streams.
  const content = connect(createReadStream(path), decompress, () => undefined);
  const parser = createParser(path, content);
  try {
    const head = parseHead(path, (await parser.line()).json);
    let sha256: string | undefined;
    const pieces = readPieces(path, parser, (sum) => {
      sha256 = sum;
    });
    const result = await work({ head, pieces });
    if (sha256 === undefined) throw new Error('the backup was not read to its end');
    return { result, sha256 };
  } finally {
    content.destroy();
  }
}
