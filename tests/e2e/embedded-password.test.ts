import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { HoldMark } from '../../src/platform/db/embedded/held-time.ts';
import type { EmbeddedWorkerData } from '../../src/platform/db/embedded/worker.ts';
import { embeddedServer } from '../../src/platform/db/server.ts';
import { temporaryFolder } from '../support/processes/process.ts';

const HOST = '127.0.0.1';

/** The worker as it serves where there are no sockets in folders. */
async function serveOnLoopback(password: string): Promise<number> {
  const port = await freePort();
  const workerData: EmbeddedWorkerData = {
    folder: join(await temporaryFolder(), 'postgres'),
    address: { host: HOST, port, password },
    channels: [],
    own: 'the service',
    mark: new HoldMark().buffer,
  };
  const worker = new Worker(new URL('../../src/platform/db/embedded/worker.ts', import.meta.url), {
    workerData,
  });
  onTestFinished(async () => {
    await worker.terminate();
  });
  await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  return port;
}

async function ask(port: number, password: string): Promise<unknown> {
  const client = new pg.Client(
    embeddedServer({ host: HOST, port, password }, { application_name: 'a guest' }).connection,
  );
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query('SELECT 1 AS one')).rows;
  } finally {
    await client.end();
  }
}

/** What a client that never says who it is gets for a query. */
async function askUnannounced(port: number): Promise<string> {
  const socket = connect(port, HOST);
  const query = Buffer.from('SELECT 4711\0');
  const length = Buffer.alloc(4);
  length.writeInt32BE(query.length + 4);
  const message = Buffer.concat([Buffer.from('Q'), length, query]);
  socket.write(Buffer.concat([message, message]));
  return text(socket);
}

describe('the embedded database on loopback', () => {
  it('answers those only who know its password', async () => {
    const password = 'a password of the folder';
    const port = await serveOnLoopback(password);
    for (const wrong of ['', 'x', `${password}x`, password.slice(1)])
      await expect(ask(port, wrong), wrong).rejects.toThrow();
    const answer = await askUnannounced(port);
    expect(answer).toContain('password authentication failed');
    expect(answer).not.toContain('4711');
    expect(await ask(port, password)).toEqual([{ one: 1 }]);
    expect(await ask(port, password)).toEqual([{ one: 1 }]);
  });
});
