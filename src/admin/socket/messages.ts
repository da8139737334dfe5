import { closeSync, constants, existsSync, lstatSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { isOpen } from '../../database/embedded/data-dir.ts';

const json = z.string().transform((line, context): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    context.addIssue('not JSON');
    return z.NEVER;
  }
});

const terminal = z.object({ isTTY: z.boolean().optional(), columns: z.number().optional() });

/** A command, as the client sends it. */
const request = z.object({
  args: z.array(z.string()),
  operator: z.object({ user: z.string(), host: z.string() }),
  /** What the client has read for the command, such as a password. */
  inputs: z.record(z.string(), z.string()),
  stdout: terminal,
  stderr: terminal,
});
export type CommandRequest = Readonly<z.infer<typeof request>>;
/** Reads a request from its line. */
export const commandRequest = json.pipe(request);

/** What the server sends: that it is ready for the request, the output of the command, its end. */
const reply = z.union([
  z.object({ ready: z.literal(true) }),
  z.object({ stdout: z.string() }),
  z.object({ stderr: z.string() }),
  z.object({ exitCode: z.number() }),
]);
export type CommandReply = Readonly<z.infer<typeof reply>>;
/** Reads a reply from its line. */
export const commandReply = json.pipe(reply);

/** A message on a line of its own. JSON has no line break within. */
export const encodeLine = (message: CommandRequest | CommandReply): string => `${JSON.stringify(message)}\n`;

/** Files of documents come in a request. */
const MAX_LENGTH = 268_435_456;

/** The lines of a socket. Throws RangeError for a line that is too long. */
export async function* readLines(socket: Readable): AsyncGenerator<string, void> {
  let rest = '';
  for await (const chunk of socket.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LENGTH) throw new RangeError('a message is too long');
    yield* lines;
  }
}

const SOCKET = 'admin.sock';
/** Where Linux has the open files of this process. */
const DESCRIPTORS = '/proc/self/fd';

/**
 * The path of the admin socket of a DATA_DIR. Call `close` once the socket is connected or closed.
 *
 * On Linux, the path of the socket leads through the open data directory: it is short however long DATA_DIR is, and leads to
 * the same data directory after a move. Elsewhere a long path makes `listen` and `connect` fail. Throws errors of the file system.
 */
export function openSocketDir(dataDir: string) {
  if (!existsSync(DESCRIPTORS)) return { socket: join(dataDir, SOCKET), close: () => undefined };
  const descriptor = openSync(dataDir, constants.O_RDONLY | constants.O_DIRECTORY);
  return { socket: join(DESCRIPTORS, String(descriptor), SOCKET), close: () => closeSync(descriptor) };
}

/** True if the data directory has a socket that only its owner and root can have made, and this process belongs to one of them. */
export function hasSafeSocket(dataDir: string): boolean {
  // A path that is too long or leads nowhere has no socket either. Opening the database reports what is wrong with the path.
  if (!existsSync(dataDir)) return false;
  const stats = statSync(dataDir);
  if (isOpen(stats)) return false;
  const user = process.geteuid?.();
  if (user !== undefined && user !== 0 && user !== stats.uid) return false;
  const socket = lstatSync(join(dataDir, SOCKET), { throwIfNoEntry: false });
  return socket?.isSocket() === true && socket.uid === stats.uid;
}
