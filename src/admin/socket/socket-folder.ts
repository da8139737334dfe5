import { closeSync, constants, existsSync, lstatSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isOpen } from '../../platform/db/embedded/folder.ts';

const SOCKET = 'admin.sock';
/** Where Linux has the open files of this process. */
const DESCRIPTORS = '/proc/self/fd';

/** The admin socket of a DATA_DIR. */
export interface SocketFolder {
  readonly socket: string;
  /** Call it once the socket is connected or closed. */
  close(): void;
}

/**
 * On Linux, the path of the socket leads through the open folder: it is short however long that of DATA_DIR is, and leads to
 * the same folder if that is moved. Elsewhere a long path makes `listen` and `connect` fail. Throws errors of the file system.
 */
export function openSocketFolder(dataDir: string): SocketFolder {
  if (!existsSync(DESCRIPTORS)) return { socket: join(dataDir, SOCKET), close: () => undefined };
  const descriptor = openSync(dataDir, constants.O_RDONLY | constants.O_DIRECTORY);
  return { socket: join(DESCRIPTORS, String(descriptor), SOCKET), close: () => closeSync(descriptor) };
}

/** True if the folder has a socket that only its owner and root can have made, and this process belongs to one of them. */
export function hasSafeSocket(dataDir: string): boolean {
  // A path that is too long or leads nowhere has no socket either. Opening the database reports what is wrong with the path.
  if (!existsSync(dataDir)) return false;
  const folder = statSync(dataDir);
  if (isOpen(folder)) return false;
  const user = process.geteuid?.();
  if (user !== undefined && user !== 0 && user !== folder.uid) return false;
  const socket = lstatSync(join(dataDir, SOCKET), { throwIfNoEntry: false });
  return socket?.isSocket() === true && socket.uid === folder.uid;
}
