/** What somebody without credentials does from one address. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { postRequest } from '../harness/connection.ts';
import { CALLBACK } from './accounts.ts';
import { CLIENT, type Move, steadily, type Target } from './sending.ts';
import { connectFrom, getOf } from './wire.ts';

const IDLE = 300;
const PIPELINING = 10;

/** The same from the address of a stranger. */
const fromElsewhere =
  (move: Move): Move =>
  (target) =>
    move({ ...target, from: target.stranger });

async function untilStopped({ signal }: Target, sockets: readonly Socket[]): Promise<void> {
  while (!signal.aborted) await delay(50, undefined, { signal }).catch(() => undefined);
  for (const socket of sockets) socket.destroy();
}

/** The first responses of a connection are noted. */
function sending(target: Target, text: string): Socket {
  const socket = connectFrom(target, () => socket.write(text));
  socket.once('data', (part: Buffer) => {
    target.note(part.toString('latin1', 9, 12));
    socket.resume();
  });
  socket.on('error', ({ message }) => target.note(message));
  return socket;
}

const live = 'GET /health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n';
const pipelined: Move = (target) =>
  // Nobody reads more than the first of them.
  untilStopped(
    target,
    Array.from({ length: PIPELINING }, () => sending(target, live.repeat(2_000))),
  );

const idle: Move = (target) =>
  untilStopped(
    target,
    Array.from({ length: IDLE }, () => sending(target, live)),
  );

const wrongPasswords: Move = (target) =>
  steadily(target, CLIENT, () =>
    postRequest('/login', { email: `${randomUUID()}@adversary.example`, password: 'not the right one' }, {}),
  );

const oauthPages: Move = (target) => {
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: target.attacker.client.id,
    redirect_uri: CALLBACK,
    code_challenge: randomBytes(32).toString('base64url'),
    code_challenge_method: 'S256',
    // As long as a sign-in may be.
    state: 's'.repeat(2_000),
  });
  return steadily(target, CLIENT, () => getOf(`/oauth/authorize?${parameters}`));
};

const MOVES: Readonly<Record<string, Move>> = {
  'made-up keys': (target) =>
    steadily(target, 500, () =>
      postRequest(
        '/graphql',
        { query: '{ __typename }' },
        { cookie: `session_id=${randomBytes(32).toString('base64url')}` },
      ),
    ),
  'queries without credentials': (target) =>
    steadily(target, CLIENT, () =>
      postRequest('/graphql', { query: '{ __schema { types { name fields { name } } } }' }, {}),
    ),
  'wrong passwords': wrongPasswords,
  'OAuth pages': oauthPages,
  'idle connections': idle,
  pipelining: pipelined,
};

export const BY_STRANGERS: Readonly<Record<string, Move>> = Object.fromEntries(
  Object.entries(MOVES).map(([name, move]) => [name, fromElsewhere(move)]),
);
