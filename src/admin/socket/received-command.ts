import type { Socket } from 'node:net';
import type { Database } from '../../database/database.ts';
import type { Config } from '../../platform/config/config.ts';
import type { Logger } from '../../platform/log/log.ts';
import { AdminError, type CommandIo, EXIT, type Output, printResult } from '../cli/output.ts';
import { runCommandLine, runOpened } from '../program.ts';
import { type CommandReply, type CommandRequest, commandRequest, encodeLine, readLines } from './messages.ts';

/** What commands in the server's process work with. */
export interface ServedCommands {
  readonly config: Config;
  readonly database: Database;
  readonly log: Logger;
}

/** The input and output of the client. Output ends quietly when the client has gone, or when its reader has. */
function ioOf(socket: Socket, { inputs, ...terminals }: CommandRequest): CommandIo {
  const output = (name: 'stdout' | 'stderr'): Output => ({
    ...terminals[name],
    write(text, done) {
      const gone = () => done?.(Object.assign(new Error('the client has gone'), { code: 'EPIPE' }));
      if (socket.readableEnded || !socket.writable) gone();
      else
        send(socket, name === 'stdout' ? { stdout: text } : { stderr: text }, (error) =>
          error ? gone() : done?.(),
        );
    },
  });
  return {
    stdout: output('stdout'),
    stderr: output('stderr'),
    async input(name) {
      const value = inputs[name];
      if (value === undefined)
        throw new AdminError(
          `The server received the command without its ${name}. Nothing was changed. Repeat the command.`,
        );
      return value;
    },
  };
}

function send(socket: Socket, reply: CommandReply, done?: (error?: Error | null) => void): void {
  socket.write(encodeLine(reply), done);
}

/** Runs the command that comes on a socket on the server's own database. Rejects if something else comes. */
export async function runReceived(socket: Socket, { config, database, log }: ServedCommands): Promise<void> {
  // A client that has given up by now has sent nothing.
  send(socket, { ready: true });
  const lines = readLines(socket);
  const { value: line } = await lines.next();
  if (line === undefined) return;
  const { data: request, error } = commandRequest.safeParse(line);
  if (request === undefined) {
    send(socket, {
      stderr:
        'The server does not understand the command. Nothing was changed. Restart the server if the server has another version.\n',
    });
    send(socket, { exitCode: EXIT.failed });
    throw error;
  }
  // Notices that the client ends the connection.
  void lines.next().catch(() => undefined);
  // Arguments may be secrets.
  log.emit('admin.command_started', { command: request.args[0], user: request.operator.user });
  const io = ioOf(socket, request);
  const opened = { config, database, applied: [] };
  const exitCode = await runCommandLine(request.args, io, {
    operator: request.operator,
    run: (work) => runOpened(opened, work, io),
    runWithout: async (work) => {
      const closed = { ...opened, database: { ...database, close: async () => undefined } };
      await printResult(io, await work({ config, log, io, open: async () => closed }));
    },
  });
  send(socket, { exitCode });
}
