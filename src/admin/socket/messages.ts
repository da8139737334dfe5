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

const request = z.object({
  args: z.array(z.string()),
  operator: z.object({ user: z.string(), host: z.string() }),
  /** Includes secrets that the client has read, such as a password. */
  inputs: z.record(z.string(), z.string()),
  stdout: terminal,
  stderr: terminal,
});
export type CommandRequest = Readonly<z.infer<typeof request>>;
export const commandRequest = json.pipe(request);

/** A server sends `ready`, then output, and finally the exit code. */
const reply = z.union([
  z.object({ ready: z.literal(true) }),
  z.object({ stdout: z.string() }),
  z.object({ stderr: z.string() }),
  z.object({ exitCode: z.number() }),
]);
export type CommandReply = Readonly<z.infer<typeof reply>>;
export const commandReply = json.pipe(reply);

/** JSON has no line break, so each message is one line. */
export const encodeLine = (message: CommandRequest | CommandReply): string => `${JSON.stringify(message)}\n`;

/** 256 MiB, because a request contains the files of documents. */
const MAX_LENGTH = 268_435_456;

/** @throws {RangeError} for a line that is too long. */
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
/** Linux lists the open files of this process here. */
const DESCRIPTORS = '/proc/self/fd';

/**
 * On Linux, the path leads through the open data directory, so it is short and stays valid after a move. On
 * other systems a long path makes `listen` and `connect` fail. The caller calls `close` once the socket is
 * connected or closed.
 * @throws the errors of the file system.
 */
export function openSocketDir(dataDir: string) {
  if (!existsSync(DESCRIPTORS)) return { socket: join(dataDir, SOCKET), close: () => undefined };
  const descriptor = openSync(dataDir, constants.O_RDONLY | constants.O_DIRECTORY);
  return { socket: join(DESCRIPTORS, String(descriptor), SOCKET), close: () => closeSync(descriptor) };
}

/**
 * True if only the owner of the data directory or root can have created the socket, and this process runs as
 * one of them.
 */
export function hasSafeSocket(dataDir: string): boolean {
  // A path that is too long or does not exist has no socket either. Opening the database reports the problem
  // with the path.
  if (!existsSync(dataDir)) return false;
  const stats = statSync(dataDir);
  if (isOpen(stats)) return false;
  const user = process.geteuid?.();
  if (user !== undefined && user !== 0 && user !== stats.uid) return false;
  const socket = lstatSync(join(dataDir, SOCKET), { throwIfNoEntry: false });
  return socket?.isSocket() === true && socket.uid === stats.uid;
}
