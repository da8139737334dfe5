import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Where the embedded server listens, as `pg` takes it: a folder with the socket in it, or a loopback host. */
export interface EmbeddedAddress {
  readonly host: string;
  readonly port: number;
}

const PORT = 5432;
/** sun_path holds 104 bytes on macOS and 108 on Linux. */
const MAX_SOCKET_PATH_BYTES = 100;

/** The socket's name, as libpq expects it in the folder: `psql -h DATA_DIR` finds it. */
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

/** Picks the address for a folder: a socket inside it, one in the temporary folder where its path is too long, or loopback TCP on Windows. */
export async function chooseAddress(dataDir: string): Promise<EmbeddedAddress> {
  if (process.platform === 'win32') return { host: '127.0.0.1', port: await freePort() };
  const folder = resolve(dataDir);
  const address = { host: folder, port: PORT };
  if (Buffer.byteLength(socketPath(address) ?? '') <= MAX_SOCKET_PATH_BYTES) return address;
  const digest = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  const host = join(tmpdir(), `content-graph-${digest}`);
  mkdirSync(host, { recursive: true, mode: 0o700 });
  return { host, port: PORT };
}

const file = (dataDir: string) => join(dataDir, 'address.json');

/** Leaves the address for other processes, such as the admin command: whole or not at all. */
export function publishAddress(dataDir: string, address: EmbeddedAddress): void {
  const draft = `${file(dataDir)}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(address), { mode: 0o600 });
  renameSync(draft, file(dataDir));
}

export function withdrawAddress(dataDir: string): void {
  rmSync(file(dataDir), { force: true });
}

/** The address that a server has published; undefined where there is none. One that was killed leaves its own behind. */
export function publishedAddress(dataDir: string): EmbeddedAddress | undefined {
  if (!existsSync(file(dataDir))) return undefined;
  return JSON.parse(readFileSync(file(dataDir), 'utf8')) as EmbeddedAddress;
}
