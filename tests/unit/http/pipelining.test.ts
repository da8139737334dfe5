import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { onePerConnection } from '../../../src/http/server/node-server.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const MANY = 200;

/** A server whose requests are answered by the test, and a client. */
let world: Awaited<ReturnType<typeof open>>;
beforeEach(async () => {
  world = await open();
});
afterEach(async () => {
  world.client.destroy();
  world.server.closeAllConnections();
  await new Promise((resolve) => world.server.close(resolve));
});

async function open() {
  const taken: ServerResponse[] = [];
  const told = { requests: 0 };
  const take = onePerConnection((_incoming, outgoing) => void taken.push(outgoing));
  const parsed: (IncomingMessage | ServerResponse)[] = [];
  const server = createServer((incoming, outgoing) => {
    told.requests += 1;
    parsed.push(incoming, outgoing);
    take(incoming, outgoing);
  });
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const received = { text: '' };
  client.setEncoding('utf8').on('data', (text: string) => {
    received.text += text;
  });
  client.on('error', () => undefined);
  const [connection] = await accepted;
  return { server, client, connection, taken, told, received, parsed };
}

it('a connection on which many requests wait is read no further until they have been taken, and then to its end', async () => {
  const { client, connection, taken, told, received } = world;
  let sent = 0;
  for (; sent < MANY && !connection.isPaused(); sent += 1) {
    client.write(REQUEST);
    await expect.poll(() => told.requests > sent || connection.isPaused(), { interval: 1 }).toBe(true);
  }
  expect(connection.isPaused()).toBe(true);
  expect(told.requests).toBeLessThan(40);
  expect(taken).toHaveLength(1);
  for (; sent < MANY; sent += 1) client.write(REQUEST);
  for (let responded = 0; responded < MANY; responded += 1) {
    await expect.poll(() => taken.length, { interval: 1 }).toBe(responded + 1);
    taken.at(-1)?.end(`answer ${responded};`);
  }
  await expect.poll(() => received.text).toContain(`answer ${MANY - 1};`);
  const responses = [...received.text.matchAll(/answer (\d+);/g)].map(([, number]) => Number(number));
  expect(responses).toEqual(Array.from({ length: MANY }, (_, index) => index));
});

it('a connection on which thousands wait at once is closed, and only the request that has begun is destroyed', async () => {
  const { client, connection, taken, told, parsed } = world;
  const closed = Promise.all(
    [client, connection].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
  );
  client.write(REQUEST.repeat(3_000));
  await closed;
  expect(taken).toHaveLength(1);
  expect(told.requests).toBeGreaterThan(1_024);
  expect(parsed.filter(({ destroyed }) => destroyed).length).toBeLessThanOrEqual(2);
});
