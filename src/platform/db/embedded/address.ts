import { randomBytes } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { isOpen, isOwn } from './folder.ts';
import { UnsafeFolderError } from './folder-error.ts';

const embeddedAddress = z.object({ host: z.string(), port: z.number(), password: z.string().optional() });

/**
 * Where the embedded server listens, in pg's terms: the folder of the socket, or a loopback host. The
 * folder's mode protects the socket. Any local user can reach loopback, so a password protects that.
 */
export type EmbeddedAddress = Readonly<z.infer<typeof embeddedAddress>>;

const PORT = 5432;
/** sun_path holds 104 bytes on macOS and 108 on Linux. */
const MAX_SOCKET_PATH_BYTES = 100;
const SOCKET_FOLDER = 'content-graph-';
const PASSWORD_BYTES = 24;

/** The path of the socket. Uses libpq's file name, so that `psql -h DATA_DIR` finds it. */
export function socketPath(address: EmbeddedAddress): string | undefined {
  return /^(127\.|\[?::1)/.test(address.host) ? undefined : join(address.host, `.s.PGSQL.${address.port}`);
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done) => probe.listen(0, '127.0.0.1', done));
  const bound = probe.address();
  await new Promise((done) => probe.close(done));
  return typeof bound === 'object' && bound !== null ? bound.port : PORT;
}

/**
 * Picks the address for a folder: a socket inside it or, if its path is too long, in a new temporary folder
 * with an unpredictable name. On Windows: loopback with a password.
 */
export async function chooseAddress(dataDir: string): Promise<EmbeddedAddress> {
  if (process.platform === 'win32')
    return {
      host: '127.0.0.1',
      port: await freePort(),
      password: randomBytes(PASSWORD_BYTES).toString('base64url'),
    };
  const address = { host: realpathSync(dataDir), port: PORT };
  if (Buffer.byteLength(socketPath(address) ?? '') <= MAX_SOCKET_PATH_BYTES) return address;
  return { host: mkdtempSync(join(realpathSync(tmpdir()), SOCKET_FOLDER)), port: PORT };
}

const file = (dataDir: string) => join(dataDir, 'address.json');

/** Writes the address atomically for other processes, such as the admin command. */
export function publishAddress(dataDir: string, address: EmbeddedAddress): void {
  const draft = `${file(dataDir)}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(address), { mode: 0o600 });
  renameSync(draft, file(dataDir));
}

const publishedText = z.string().transform((text, context) => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    context.addIssue({ code: 'custom', message: 'not JSON' });
    return z.NEVER;
  }
});

/**
 * The address that a server has published, if any. A killed server leaves its address behind. A damaged file
 * counts as none: the next start replaces it.
 */
export function publishedAddress(dataDir: string): EmbeddedAddress | undefined {
  if (!existsSync(file(dataDir))) return undefined;
  return publishedText.pipe(embeddedAddress).safeParse(readFileSync(file(dataDir), 'utf8')).data;
}

export function withdrawAddress(dataDir: string): void {
  rmSync(file(dataDir), { force: true });
}

/** Removes the socket, and its temporary folder, of an address that nobody serves any more. */
export function discardAddress(dataDir: string, address: EmbeddedAddress): void {
  const path = socketPath(address);
  const stats = lstatSync(address.host, { throwIfNoEntry: false });
  if (path === undefined || stats === undefined || !stats.isDirectory() || !isOwn(stats)) return;
  rmSync(path, { force: true });
  if (address.host !== realpathSync(dataDir)) rmdirSync(address.host);
}

/**
 * Whether the address looks served, judging by the file system. Throws UnsafeFolderError if another user may
 * be listening: this user must own the socket and its folder, the folder must be private, and neither may be
 * a link.
 */
export function isServed(address: EmbeddedAddress): boolean {
  const path = socketPath(address);
  if (path === undefined) return true;
  const folder = lstatSync(address.host, { throwIfNoEntry: false });
  const socket = lstatSync(path, { throwIfNoEntry: false });
  if (folder === undefined || socket === undefined) return false;
  if (!folder.isDirectory() || !isOwn(folder) || isOpen(folder) || !socket.isSocket() || !isOwn(socket))
    throw new UnsafeFolderError(
      `The socket "${path}" of the embedded database may be another user's: you must own it and its folder, and the folder must be closed to others.`,
    );
  return true;
}
