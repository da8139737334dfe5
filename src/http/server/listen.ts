import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, createServer, type ListenOptions, type Server as NetServer } from 'node:net';
import { type Config, ownOrigin } from '../../platform/config.ts';
import { OperatorError } from '../../platform/operator-error.ts';

type Place = Pick<Config, 'host' | 'port'>;

/** As many as the system allows: thousands of clients may connect at once. Node asks for 511. */
const LISTEN_BACKLOG = 65_535;

/** What to do about an error of listening, by Node's error code. */
const LISTEN_ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there, so stop it or set PORT to another port',
  EACCES: 'the user of the service may not listen there, so set PORT to 1024 or above',
  EADDRNOTAVAIL: 'HOST must be an address of this machine, such as 127.0.0.1 or 0.0.0.0',
  ENOTFOUND: 'HOST must be an address or a known name of this machine',
  EAI_AGAIN: 'HOST must be an address or a known name of this machine',
};

function listenError({ host, port }: Place, error: NodeJS.ErrnoException): OperatorError {
  const advice = LISTEN_ADVICE[error.code ?? ''] ?? `correct HOST or PORT: ${error.message}`;
  return new OperatorError(
    `The service cannot listen on HOST=${host}, PORT=${port}: ${advice} (${error.code}).`,
  );
}

async function bind(server: NetServer, place: Place, options: ListenOptions): Promise<void> {
  server.listen({ ...options, host: place.host, port: place.port });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenError(place, error as NodeJS.ErrnoException);
  }
}

/**
 * Tells before anything is created whether `listen` can work, by listening for a moment. Whoever connects in that
 * moment is disconnected. Throws OperatorError.
 */
export async function refuseTakenPort(place: Place): Promise<void> {
  const server = createServer((socket) => socket.destroy());
  await bind(server, place, {});
  server.close();
  await once(server, 'close');
}

/** Listens. Resolves to the origin. Throws OperatorError. */
export async function listen(server: Server, place: Place): Promise<string> {
  await bind(server, place, { backlog: LISTEN_BACKLOG });
  const bound = server.address() as AddressInfo;
  return ownOrigin({ host: place.host, port: bound.port });
}
