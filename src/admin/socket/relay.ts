import { connect } from 'node:net';
import { AdminError, type CommandIo, type Output } from '../cli/output.ts';
import {
  type CommandRequest,
  commandReply,
  encodeLine,
  hasSafeSocket,
  openSocketDir,
  readLines,
} from './messages.ts';

/** A server that accepts connections responds soon. */
const READY_WAIT_MS = 20_000;
/** No process listens, because the server was killed or is stopping. */
const ABSENT = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE']);

function connectTo(dataDir: string) {
  const dir = openSocketDir(dataDir);
  // `connect` has made the system call when it returns, so the directory can be closed.
  const socket = connect(dir.socket);
  dir.close();
  return socket;
}

/** Resolves to false if the reader has closed the pipe. */
const writeOutput = (output: Output, text: string) =>
  new Promise<boolean>((resolve) => output.write(text, (error) => resolve(!error)));

/**
 * @returns the exit code, or undefined without a server.
 * @throws {AdminError} if the server does not respond, or stops before the command is finished.
 */
export async function relayCommand(
  dataDir: string,
  request: CommandRequest,
  io: CommandIo,
): Promise<number | undefined> {
  if (!hasSafeSocket(dataDir)) return undefined;
  const socket = connectTo(dataDir);
  let isSent = false;
  socket.setTimeout(READY_WAIT_MS, () =>
    socket.destroy(
      new AdminError(
        `The server that has the embedded database in "${dataDir}" does not respond. Nothing was changed. Check the process of the server and its log.`,
      ),
    ),
  );
  try {
    for await (const line of readLines(socket)) {
      const reply = commandReply.parse(line);
      if ('exitCode' in reply) return reply.exitCode;
      if ('ready' in reply) {
        isSent = true;
        socket.setTimeout(0).write(encodeLine(request));
      }
      if ('stdout' in reply && !(await writeOutput(io.stdout, reply.stdout))) socket.end();
      if ('stderr' in reply) await writeOutput(io.stderr, reply.stderr);
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && ABSENT.has(String(error.code)))) throw error;
  } finally {
    socket.destroy();
  }
  if (!isSent) return undefined;
  throw new AdminError(
    'The server stopped before the command was finished. Check whether the command took effect before you repeat it.',
  );
}
