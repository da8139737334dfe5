import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A message of PostgreSQL's protocol: type, length, body. */
function message(type: string, body: Buffer | string): Buffer {
  const content = Buffer.from(body);
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeInt32BE(4 + content.length, 1);
  return Buffer.concat([head, content]);
}

const AUTHENTICATED = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', 'I')]);

const int = (value: number, bytes: 2 | 4) => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeIntBE(value, 0, bytes);
  return buffer;
};

/** PostgreSQL's types of the columns: int4, text[] and text. */
const COLUMNS = { version: 23, fixed: 1009, installedIn: 25 };

/** Row description, one row, the end of the command, and readiness. */
function rowWith(version: number): Buffer {
  const described = Object.entries(COLUMNS).map(([name, type]) =>
    Buffer.concat([Buffer.from(`${name}\0`), Buffer.alloc(6), int(type, 4), int(-1, 2), Buffer.alloc(6)]),
  );
  const values = [String(version), '{UTF8,origin}', undefined].map((value) =>
    value === undefined ? int(-1, 4) : Buffer.concat([int(value.length, 4), Buffer.from(value)]),
  );
  return Buffer.concat([
    message('T', Buffer.concat([int(described.length, 2), ...described])),
    message('D', Buffer.concat([int(values.length, 2), ...values])),
    message('C', 'SELECT 1\0'),
    message('Z', 'I'),
  ]);
}

/** What the server does with those who connect. */
export type Manner =
  | { readonly rejects: string; readonly saying: string }
  | { readonly version: number }
  | { readonly writes: string };

/** A server on a port of its own that answers as PostgreSQL does, or as something else. */
export async function fakePostgres(manner: Manner): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    let greeted = false;
    socket.on('data', () => {
      if ('rejects' in manner)
        socket.end(message('E', `SFATAL\0VFATAL\0C${manner.rejects}\0M${manner.saying}\0\0`));
      else if ('writes' in manner) socket.end(manner.writes);
      else socket.write(greeted ? rowWith(manner.version) : AUTHENTICATED);
      greeted = true;
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `postgres://ann:swordfish@127.0.0.1:${(server.address() as AddressInfo).port}/content`;
}
