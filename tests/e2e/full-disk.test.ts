import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fillDisk, freeDisk } from '../support/processes/filled-disk.ts';
import { mountedDisk } from '../support/processes/mounted.ts';
import { until } from '../support/processes/process.ts';
import { admin, demoKey, type ServerProcess, startServer } from '../support/processes/server.ts';
import { incompressible, seededRandom } from '../support/random.ts';

/** A new database takes 40 MiB, and asks for 64. */
const DISK_MIB = 100;
const CREATE = 'mutation ($body: String!) { createPost(title: "t", body: $body) { id } }';

const random = seededRandom('full disk');

/** A service on a small disk, what it has acknowledged, and what it says of itself. */
async function onSmallDisk() {
  const { folder } = await mountedDisk(DISK_MIB);
  const dataDir = join(folder, 'data');
  const server = await startServer(dataDir, {
    RATE_LIMIT_BURST: '1000000',
    RATE_LIMIT_PER_SECOND: '1000000',
    LOG_LEVEL: 'info',
  });
  const key = await demoKey(dataDir);
  const acknowledged: string[] = [];
  async function post(text = incompressible(random, 9_000)): Promise<boolean> {
    const { status, data } = await server.gql(CREATE, { key, variables: { body: text } });
    if (status === 200) acknowledged.push(data.createPost.id);
    return status === 200;
  }
  const query = '{ posts(limit: 1) { id } }';
  return {
    folder,
    dataDir,
    server,
    post,
    read: async () => (await server.gql(query, { key })).status === 200,
    /** Resolves once searches find as many posts with the text: until then, the service writes its index. */
    indexed: (text: string, count: number) =>
      until('the index', async () => {
        const { data } = await server.gql(
          `{ searchPosts(query: "${text}", first: 50) { edges { cursor } } }`,
          { key },
        );
        return data.searchPosts.edges.length === count;
      }),
    /** The posts that were acknowledged and are not there. */
    async lost(): Promise<string[]> {
      const lost: string[] = [];
      for (const id of acknowledged) {
        const { data } = await server.gql('query ($id: ID!) { post(id: $id) { id } }', {
          key,
          variables: { id },
        });
        if (data?.post?.id !== id) lost.push(id);
      }
      return lost;
    },
    acknowledged,
  };
}

async function readiness({ origin }: ServerProcess): Promise<string> {
  const response = await fetch(`${origin}/health/ready`);
  const { reason = 'ready' } = (await response.json()) as { reason?: string };
  return `${response.status} ${reason}`;
}

async function gauges({ origin }: ServerProcess): Promise<string> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  return [...text.matchAll(/^(?:content_graph_database_up|content_graph_database_writable) (\d)$/gm)]
    .map(([, value]) => value)
    .join();
}

/** How often a text is in what it has said. */
const times = ({ stdout }: ServerProcess, text: string) => stdout.split(text).length - 1;

describe('A disk that is full under the embedded database', () => {
  it('is told before a write fails of it and when one does; reads go on; room ends it, and nothing is lost', async () => {
    const { folder, dataDir, server, post, read, lost, acknowledged } = await onSmallDisk();
    expect(await post()).toBe(true);
    await fillDisk(folder, 1_000_000);
    await server.printed(new RegExp(`embedded_db.data_dir_unhealthy.*${dataDir}.* has 0 MiB left`));
    expect(await readiness(server)).toBe('200 ready');
    await until('a refused write', async () => !(await post()));
    await server.printed(/database\.not_writable.*"its disk is full"/);
    for (let count = 0; count < 20; count += 1) {
      expect(await post()).toBe(false);
      expect(await read()).toBe(true);
    }
    expect(await readiness(server)).toBe('503 The database cannot write, because its disk is full.');
    expect(await gauges(server)).toBe('0,0');
    expect(server.stdout).not.toContain('database.statement_failed');
    await freeDisk(folder);
    await server.printed(/database\.writable/);
    expect(await post()).toBe(true);
    await until('readiness', async () => (await readiness(server)) === '200 ready');
    expect(await gauges(server)).toBe('1,1');
    await server.printed(/embedded_db\.data_dir_recovered/);
    expect(acknowledged.length).toBeGreaterThan(2);
    expect(await lost()).toEqual([]);
    expect(times(server, 'database.writable')).toBe(1);
  });

  it('ends it where its log has no room, says what to do, and it starts again once there is', async () => {
    const { folder, dataDir, server, post, indexed, lost, acknowledged } = await onSmallDisk();
    for (let count = 0; count < 5; count += 1) await post('filler');
    await indexed('filler', 5);
    await fillDisk(folder);
    expect((await admin(['sql', 'SELECT pg_switch_wal()'], dataDir)).code).toBe(0);
    // So little that the tables have room for it.
    expect(await post('b')).toBe(false);
    await server.printed(/embedded_db\.restarting/);
    await server.printed(
      new RegExp(`embedded_db.restart_failed.*${dataDir}.* has 0 MiB left; free some space`),
    );
    await until('readiness to end', async () => (await readiness(server)).startsWith('503'));
    expect(await gauges(server)).toMatch(/^0/);
    await freeDisk(folder);
    await server.printed(/embedded_db\.recovered/);
    expect(await post()).toBe(true);
    await until('readiness', async () => (await readiness(server)) === '200 ready');
    expect(acknowledged).toHaveLength(6);
    expect(await lost()).toEqual([]);
  });
});
