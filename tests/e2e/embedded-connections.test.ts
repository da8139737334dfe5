import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { until } from '../support/processes/process.ts';
import { demoKey, startServer } from '../support/processes/server.ts';

const text = (value: string) => Buffer.from(`${value}\0`);
const int16 = (value: number) => Buffer.from([value >> 8, value & 255]);
function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** A frontend message of PostgreSQL's protocol: its type, its length, its body. */
function message(type: string, ...body: Buffer[]): Buffer {
  const content = Buffer.concat(body);
  return Buffer.concat([Buffer.from(type), int32(content.length + 4), content]);
}

const parse = (sql: string) => message('P', text(''), text(sql), int16(0));
function bind(...values: string[]): Buffer {
  const parameters = values.flatMap((value) => [int32(Buffer.byteLength(value)), Buffer.from(value)]);
  return message('B', text(''), text(''), int16(0), int16(values.length), ...parameters, int16(0));
}
const execute = message('E', text(''), int32(0));
const sync = message('S');

/** A bare connection to the embedded database, as psql or the admin command has one. */
interface Connection {
  readonly socket: Socket;
  /** The first value of each row that it was sent since it was last asked; resolves when it is ready for a query. */
  answer(): Promise<string[]>;
}

function readAnswer(received: Buffer): { values: string[]; ready: boolean } {
  const values: string[] = [];
  let ready = false;
  for (let at = 0; at + 5 <= received.length; ) {
    const type = String.fromCharCode(received[at] ?? 0);
    const end = at + 1 + received.readInt32BE(at + 1);
    if (end > received.length) break;
    if (type === 'E') throw new Error(received.toString('utf8', at, end));
    if (type === 'D') values.push(received.toString('utf8', at + 11, at + 11 + received.readInt32BE(at + 7)));
    ready = type === 'Z';
    at = end;
  }
  return { values, ready };
}

async function open(dataDir: string): Promise<Connection> {
  const socket = connect(join(dataDir, '.s.PGSQL.5432'));
  onTestFinished(() => void socket.destroy());
  let received = Buffer.alloc(0);
  socket.on('data', (part: Buffer) => {
    received = Buffer.concat([received, part]);
  });
  const answer = () =>
    until('an answer', () => {
      const { values, ready } = readAnswer(received);
      if (!ready) return undefined;
      received = Buffer.alloc(0);
      return values;
    });
  const startup = Buffer.concat([int32(196_608), text('user'), text('postgres'), text('')]);
  socket.write(Buffer.concat([int32(startup.length + 4), startup]));
  await answer();
  return { socket, answer };
}

describe('connections to the embedded database', () => {
  it('keep the messages of one query together, however those of others arrive between them', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir);
    const key = await demoKey(dataDir);
    const [slow, quick] = [await open(dataDir), await open(dataDir)];
    for (let round = 0; round < 20; round += 1) {
      slow.socket.write(parse("SELECT 'slow ' || $1::text"));
      quick.socket.write(
        Buffer.concat([parse("SELECT 'quick ' || $1::text || $2::text"), bind('a', 'b'), execute, sync]),
      );
      expect(await quick.answer()).toEqual(['quick ab']);
      slow.socket.write(bind(`${round}`));
      expect((await server.gql('{ viewer { name } }', { key })).data).toEqual({ viewer: { name: 'Ada' } });
      slow.socket.write(Buffer.concat([execute, sync]));
      expect(await slow.answer()).toEqual([`slow ${round}`]);
    }
  });

  it('leave nothing behind where they close in the middle of a query', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir);
    const key = await demoKey(dataDir);
    const gone = await open(dataDir);
    gone.socket.write(Buffer.concat([parse('SELECT $1::text'), bind('x')]));
    gone.socket.destroy();
    expect((await server.gql('{ viewer { name } }', { key })).data).toEqual({ viewer: { name: 'Ada' } });
    const next = await open(dataDir);
    next.socket.write(Buffer.concat([parse('SELECT $1::text'), bind('y'), execute, sync]));
    expect(await next.answer()).toEqual(['y']);
  });
});
