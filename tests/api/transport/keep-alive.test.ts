import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { NO_FAST_PATH, useSocket } from '../../support/socket.ts';

/** A connection of a client, and what has come on it. */
function open(origin: string) {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1').setEncoding('utf8');
  const connection = { text: '', closed: once(socket, 'close'), socket };
  socket.on('data', (part: string) => {
    connection.text += part;
  });
  return connection;
}

const REQUEST = 'GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n';
const ANSWER = /HTTP\/1\.1 200 OK/g;

describe.each([
  ['the fast path', {}],
  ['Yoga', { fastPath: NO_FAST_PATH }],
])('An idle connection, by %s', (_path, options) => {
  const app = useApp({ settings: { KEEP_ALIVE_TIMEOUT_MS: '620000' } });
  const socket = useSocket(app, options);
  const short = useApp({ settings: { KEEP_ALIVE_TIMEOUT_MS: '1000' } });
  const shortSocket = useSocket(short, options);

  it('has the time of KEEP_ALIVE_TIMEOUT_MS in the header Keep-Alive', async () => {
    const response = await socket.fetch('/health/live');
    expect(response.headers.get('keep-alive')).toBe('timeout=620');
    await response.body?.cancel();
  });

  it('is closed after that time', async () => {
    const connection = open(shortSocket.origin);
    connection.socket.write(REQUEST);
    await connection.closed;
    expect(connection.text).toMatch(ANSWER);
  });
});

describe('An idle connection', () => {
  const app = useApp({ settings: { REQUEST_TIMEOUT_MS: '100' } });
  const socket = useSocket(app);

  it('is not closed by the time limit of a request', async () => {
    const connection = open(socket.origin);
    const responses = () => connection.text.match(ANSWER)?.length ?? 0;
    connection.socket.write(REQUEST);
    await expect.poll(responses).toBe(1);
    // Its request began later, and is past the limit already.
    const stalled = open(socket.origin);
    stalled.socket.write('GET /health/live HTTP/1.1\r\n');
    await stalled.closed;
    expect(stalled.text).toMatch(/^HTTP\/1\.1 408 /);
    connection.socket.write(REQUEST);
    await expect.poll(responses).toBe(2);
    connection.socket.destroy();
  });
});
