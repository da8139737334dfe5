import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { withTimeout } from '../../platform/deadline.ts';
import { openSocketDir } from './messages.ts';
import type { ServedCommands } from './received-command.ts';

/** Commands get the same time as requests when the service stops. */
const END_WAIT_MS = 10_000;

async function serveCommand(socket: Socket, served: ServedCommands): Promise<void> {
  const { runReceived } = await import('./received-command.ts');
  await runReceived(socket, served);
}

/**
 * Only the owner of DATA_DIR and root can connect to the Unix domain socket. The caller has locked the data
 * directory. If the socket cannot be created, the log has a line, and commands require a stopped server.
 */
export async function listenForCommands(dataDir: string, served: ServedCommands) {
  const { log } = served;
  const dir = openSocketDir(dataDir);
  const running = new Map<Socket, Promise<void>>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', (error) => log.emit('admin.client_lost', { err: error }));
    const done = serveCommand(socket, served)
      .catch((error: unknown) => log.emit('admin.command_invalid', { err: error }))
      .finally(() => {
        running.delete(socket);
        socket.end();
      });
    running.set(socket, done);
  });
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  try {
    // A killed server leaves its socket behind.
    rmSync(dir.socket, { force: true });
    server.once('error', reject).listen(dir.socket, resolve);
    await listening;
    chmodSync(dir.socket, 0o600);
  } catch (error) {
    log.emit('admin.socket_failed', { err: error });
  }
  return {
    /** Waits up to END_WAIT_MS for running commands. */
    async close(): Promise<void> {
      // Closing the server also removes the socket.
      server.close();
      dir.close();
      await withTimeout(END_WAIT_MS, Promise.all(running.values()));
      for (const socket of running.keys()) socket.destroy();
    },
  };
}
