import type { Socket } from 'node:net';
import type { Database } from '../../database/database.ts';
import type { Config } from '../../platform/config/config.ts';
import type { Logger } from '../../platform/log/log.ts';
import { AdminError, type CommandIo, EXIT, type Output, printResult } from '../cli/output.ts';
import { runCommandLine } from '../program.ts';
import { type CommandReply, type CommandRequest, commandRequest, encodeLine, readLines } from './messages.ts';

export interface ServedCommands {
  readonly config: Config;
  readonly database: Database;
  readonly log: Logger;
}

/** Output ends silently after the client has disconnected or its reader has closed the pipe. */
function createSocketIo(socket: Socket, { inputs, ...terminals }: CommandRequest): CommandIo {
  const output = (name: 'stdout' | 'stderr'): Output => ({
    ...terminals[name],
    write(text, done) {
      const fail = () => done?.(Object.assign(new Error('the client has disconnected'), { code: 'EPIPE' }));
      if (socket.readableEnded || !socket.writable) fail();
      else
        send(socket, name === 'stdout' ? { stdout: text } : { stderr: text }, (error) =>
          error ? fail() : done?.(),
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

/** Rejects if the message is no command. */
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
  // The read detects that the client has closed the connection.
  void lines.next().catch(() => undefined);
  // Only the name of the command is logged, because arguments may be secrets.
  log.emit('admin.command_started', { command: request.args[0], user: request.operator.user });
  const io = createSocketIo(socket, request);
  const opened = { config, database, applied: [] };
  const exitCode = await runCommandLine(request.args, io, {
    operator: request.operator,
    run: async (work) => printResult(io, await work({ ...opened, io })),
    runWithout: async (work) => {
      const closed = { ...opened, database: { ...database, close: async () => undefined } };
      await printResult(io, await work({ config, log, io, open: async () => closed }));
    },
  });
  send(socket, { exitCode });
}
