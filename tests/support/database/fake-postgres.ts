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

/** Row description with one int4 column, one row, the end of the command, and readiness. */
function rowWith(value: string): Buffer {
  const column = Buffer.concat([
    Buffer.from('\0\x01version\0'),
    Buffer.alloc(6),
    Buffer.from('\0\0\0\x17\0\x04'),
    Buffer.alloc(6),
  ]);
  const length = Buffer.alloc(4);
  length.writeInt32BE(value.length);
  return Buffer.concat([
    message('T', column),
    message('D', Buffer.concat([Buffer.from('\0\x01'), length, Buffer.from(value)])),
    message('C', 'SELECT 1\0'),
    message('Z', 'I'),
  ]);
}

/** What the server does with those who connect. */
export type Manner =
  | { readonly refuses: string; readonly saying: string }
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
      if ('refuses' in manner)
        socket.end(message('E', `SFATAL\0VFATAL\0C${manner.refuses}\0M${manner.saying}\0\0`));
      else if ('writes' in manner) socket.end(manner.writes);
      else socket.write(greeted ? rowWith(String(manner.version)) : AUTHENTICATED);
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
