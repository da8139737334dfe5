import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { nodeServerOptions } from '../../../src/app/server.ts';
import { createNodeServer } from '../../../src/http/server/node-server.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { watchedDatabase } from '../../support/database/watched.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';
import { steppedClock } from '../../support/time/stepped-clock.ts';

const PROXY = '127.0.0.1';
const METRICS_TOKEN = 'a token for metrics';
const HOUR_MS = 3_600_000;
const app = useApp({
  settings: { TRUST_PROXY: `${PROXY},10.9.8.0/24`, ANONYMOUS_READ: 'true', METRICS_TOKEN },
});
afterEach(() => app.prisma.addressBlock.deleteMany());

/** A request that came through the proxy. */
const from = (address: string, headers: Readonly<Record<string, string>> = {}) => ({
  ...graphqlPost('{ posts { id } }', { headers }),
  headers: { 'content-type': 'application/json', 'x-forwarded-for': address, ...headers },
});
const statusOf = async ({ fetch }: Pick<TestApp, 'fetch'>, address: string) =>
  (await fetch('/graphql', from(address))).status;

async function block(address: string, ...options: readonly string[]) {
  const { json, failure } = await adminCommand(app, ['block', 'add', address, ...options]);
  expect(failure).toBeUndefined();
  return json;
}

async function unblock(address: string): Promise<void> {
  expect((await adminCommand(app, ['block', 'remove', address])).failure).toBeUndefined();
}

async function blocks() {
  const { json } = await adminCommand(app, ['block', 'list']);
  return json;
}

describe('A blocked address', () => {
  it('is rejected on all instances, whatever it asks for, until it is unblocked', async () => {
    const address = '203.0.113.7';
    const other = secondInstance(app);
    const instances = [app, other];
    expect(await block(address, '--reason', 'scans')).toEqual({
      network: address,
      reason: 'scans',
      createdAt: expect.any(String),
      expiresAt: null,
    });
    for (const instance of instances) await expect.poll(() => statusOf(instance, address)).toBe(403);
    for (const path of [
      '/graphql',
      '/graphql?query=%7B__typename%7D',
      '/login',
      '/graphql/stream-token',
      '/none',
    ]) {
      const response = await app.fetch(path, { headers: { 'x-forwarded-for': address } });
      expect(response.status, path).toBe(403);
      expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'FORBIDDEN' } }] });
    }
    // What the client itself writes is left of what the proxy adds.
    expect(await statusOf(app, `198.51.100.1, ${address}`)).toBe(403);
    expect(await statusOf(app, `${address}, 198.51.100.1`)).toBe(200);
    for (const instance of instances) expect(await statusOf(instance, '203.0.113.8')).toBe(200);
    expect(await blocks()).toMatchObject([{ network: address, reason: 'scans' }]);

    await unblock(address);
    for (const instance of instances) await expect.poll(() => statusOf(instance, address)).toBe(200);
    expect(await blocks()).toEqual([]);
  });

  it('is answered again once the time of its block is over, by the clock of the database', async () => {
    const address = '203.0.113.20';
    const { createdAt, expiresAt } = await block(address, '--for', '1h');
    const lastsMs = Date.parse(expiresAt) - Date.parse(createdAt);
    expect(lastsMs / HOUR_MS).toBeCloseTo(1, 1);
    let unread = false;
    const database = watchedDatabase(app.database, ({ name }) => {
      if (unread && name.startsWith('blocks_read')) throw new Error('unread');
    });
    const clock = steppedClock();
    const instance = secondInstance(app, { database, clock });
    await expect.poll(() => statusOf(instance, address)).toBe(403);
    // From now on, the instance has only what it has read, and its clock.
    unread = true;
    clock.advance(HOUR_MS / 2);
    expect(await statusOf(instance, address)).toBe(403);
    clock.advance(HOUR_MS / 2);
    expect(await statusOf(instance, address)).toBe(200);
    await app.prisma.$executeRaw`UPDATE address_blocks SET ends_at = clock_timestamp()`;
    await expect.poll(() => statusOf(app, address)).toBe(200);
    expect(await blocks()).toEqual([]);
    expect((await adminCommand(app, ['block', 'remove', address])).failure).toContain('is not blocked');
  });

  it('keeps the tokens of its bucket, and its rejections have no X-RateLimit fields', async () => {
    const [watched, address] = ['203.0.113.60', '203.0.113.61'] as const;
    const rateLimit = { burst: 5, perSecond: 1 };
    const instance = secondInstance(app, { clock: steppedClock(), config: { ...app.config, rateLimit } });
    await block('203.0.113.60/31');
    await expect.poll(() => statusOf(instance, watched)).toBe(403);
    for (let time = 0; time < 2 * rateLimit.burst; time += 1) {
      const { status, headers } = await instance.fetch('/graphql', from(address));
      const limits = [...headers.keys()].filter((name) => /^(?:x-)?ratelimit/.test(name));
      expect([status, limits]).toEqual([403, []]);
    }
    await unblock('203.0.113.60/31');
    await expect.poll(() => statusOf(instance, watched)).not.toBe(403);
    const { headers } = await instance.fetch('/graphql', from(address));
    expect(headers.get('x-ratelimit-remaining')).toBe(String(rateLimit.burst - 1));
  });

  it('loses its open streams, with or without credentials; those of other addresses stay', async () => {
    const address = '203.0.113.30';
    const other = secondInstance(app);
    const { key } = await app.account();
    const open = async (from: string, own: Readonly<Record<string, string>> = {}, instance = other) => {
      const headers = { accept: 'text/event-stream', 'x-forwarded-for': from, ...own };
      const query = 'subscription { postCreated { id } }';
      const stream = readEventStream(await instance.fetch('/graphql', graphqlPost(query, { headers })));
      await stream.block();
      return stream;
    };
    const keyed = { authorization: `Bearer ${key}` };
    const blocked = [await open(address), await open(address, keyed), await open(address, keyed, app)];
    const stays = await open('203.0.113.31');
    await block('203.0.113.30/32');
    for (const stream of blocked) {
      expect((await stream.next()).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
      expect(await stream.event()).toMatchObject({ event: 'complete' });
      expect(await stream.block()).toBeUndefined();
    }
    const id = await createPost(app, key);
    expect((await stays.next()).data.postCreated).toEqual({ id });
    await unblock(address);
  });
});

it('Blocks and limits stay in force while the database cannot be read', async () => {
  const address = '203.0.113.35';
  const { key, email } = await app.account();
  const failures = new Map<string, number>();
  let readable = true;
  const database = watchedDatabase(app.database, ({ name }) => {
    const read = /^(?:blocks|account_limits)_read/.exec(name)?.[0];
    if (readable || read === undefined) return;
    failures.set(read, (failures.get(read) ?? 0) + 1);
    throw new Error('on purpose');
  });
  const instance = secondInstance(app, { database });
  const policy = async () =>
    (await instance.fetch('/graphql', graphqlPost('{ __typename }', { key }))).headers.get(
      'ratelimit-policy',
    );
  await block(address);
  const limits = ['--burst', '20', '--per-second', '1'];
  expect((await adminCommand(app, ['user', 'set-limits', email, ...limits])).failure).toBeUndefined();
  await expect.poll(() => statusOf(instance, address)).toBe(403);
  await expect.poll(policy).toBe('"default";q=20;w=20');
  readable = false;
  await unblock(address);
  await adminCommand(app, ['user', 'set-limits', email, '--reset']);
  for (const read of ['blocks_read', 'account_limits_read'])
    await expect.poll(() => failures.get(read)).toBeGreaterThan(1);
  expect(await statusOf(instance, address)).toBe(403);
  expect(await policy()).toBe('"default";q=20;w=20');
  readable = true;
  await expect.poll(() => statusOf(instance, address)).toBe(200);
  await expect.poll(policy).not.toBe('"default";q=20;w=20');
});

describe('However a block is written', () => {
  const WATCHED = ['/health/live', '/health/ready', '/metrics'];
  /** Each of this machine, or of a proxy that asks on its own behalf. */
  const OWN = ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1', '10.9.8.7', '10.9.8.7:4711', '[::1]:80'];

  it('health checks, metrics, this machine and the proxies are answered', async () => {
    await block('0.0.0.0/0', '--force');
    await block('::/0', '--force', '--reason', 'all');
    await expect.poll(() => statusOf(app, '203.0.113.40')).toBe(403);
    await expect.poll(() => statusOf(app, '2001:db8::1')).toBe(403);
    for (const path of WATCHED)
      expect(
        (
          await app.fetch(path, {
            headers: { 'x-forwarded-for': '203.0.113.40', authorization: `Bearer ${METRICS_TOKEN}` },
          })
        ).status,
        path,
      ).toBe(200);
    for (const address of OWN) expect(await statusOf(app, address), address).toBe(200);
    expect((await app.fetch('/graphql', graphqlPost('{ posts { id } }'))).status).toBe(200);
    await unblock('0.0.0.0/0');
    await unblock('::/0');
    await expect.poll(() => statusOf(app, '203.0.113.40')).toBe(200);
    await expect.poll(() => statusOf(app, '2001:db8::1')).toBe(200);
  });

  it("requests from the machine's own address are answered", async () => {
    const own = '203.0.113.45';
    let localAddress = own;
    const log = createLogger({ level: 'silent', pretty: false });
    const server = createNodeServer(nodeServerOptions(app.app, app.config, log));
    // A machine in a test may have no address but loopback: each connection reports the addresses that the test names.
    server.on('connection', (socket: Socket) => {
      Object.defineProperties(socket, {
        remoteAddress: { value: own },
        localAddress: { value: localAddress },
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const ask = async () => {
      const post = graphqlPost('{ posts { id } }', { headers: { connection: 'close' } });
      return (await fetch(`http://127.0.0.1:${port}/graphql`, post)).status;
    };
    await block(own);
    await expect.poll(() => statusOf(app, own)).toBe(403);
    for (localAddress of [own, `::ffff:${own}`]) expect(await ask(), localAddress).toBe(200);
    localAddress = '203.0.113.46';
    expect(await ask()).toBe(403);
  });

  it.each([
    ['127.0.0.1'],
    ['127.0.0.0/8', '--force'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['::ffff:7f00:1'],
    ['0:0:0:0:0:ffff:7f00:0/104', '--force'],
    ['10.9.8.7'],
    ['::ffff:10.9.8.0/120'],
    ['10.9.8.0/24'],
  ])('%s is rejected: it would do nothing', async (...written) => {
    expect((await adminCommand(app, ['block', 'add', ...written])).failure).toContain('never blocked');
    expect(await blocks()).toEqual([]);
  });

  it.each(['10.0.0.0/15', '0.0.0.0/0', '2001::/31', '::/0', '::ffff:0:0/96'])(
    '%s needs --force',
    async (wide) => {
      expect((await adminCommand(app, ['block', 'add', wide])).failure).toContain('--force');
      expect(await blocks()).toEqual([]);
    },
  );

  it.each([
    '',
    'localhost',
    '1.2.3',
    '1.2.3.4/33',
    '010.0.0.1',
    '::1/129',
    'fe80::1%eth0',
    '1.2.3.4/',
    '1.2.3.4/8/8',
    ' 1.2.3.4',
  ])('"%s" is no address', async (text) => {
    for (const verb of ['add', 'remove'])
      await expect(adminCommand(app, ['block', verb, '--', text])).rejects.toMatchObject({
        message: expect.stringContaining('must be an IP address or a network'),
      });
    expect(await blocks()).toEqual([]);
  });

  it.each(['0s', '10', '-1h', '1w', '3651d', '1e3s'])('"--for %s" is no duration', async (text) => {
    await expect(adminCommand(app, ['block', 'add', '203.0.113.9', `--for=${text}`])).rejects.toMatchObject({
      message: expect.stringContaining('must be a number of s, m, h or d'),
    });
  });

  it('it is in force for exactly the addresses in its network', async () => {
    const four = fc
      .tuple(
        fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 4, maxLength: 4 }),
        fc.integer({ min: 16, max: 32 }),
      )
      .filter(([[first]]) => first !== 127 && first !== 10);
    await fc.assert(
      fc.asyncProperty(
        four,
        fc.integer({ min: 0, max: 31 }),
        fc.boolean(),
        async ([bytes, bits], flip, mapped) => {
          const address = bytes.join('.');
          const { network } = await block(mapped ? `::ffff:${address}/${bits + 96}` : `${address}/${bits}`);
          await expect.poll(() => statusOf(app, address)).toBe(403);
          const number = (Buffer.from(bytes).readUInt32BE() ^ (1 << (31 - flip))) >>> 0;
          const near = [24, 16, 8, 0].map((shift) => (number >>> shift) & 255);
          if (near[0] !== 127 && near[0] !== 10)
            expect(await statusOf(app, near.join('.'))).toBe(flip < bits ? 200 : 403);
          await unblock(network);
          await expect.poll(() => statusOf(app, address)).toBe(200);
        },
      ),
      { numRuns: 20 },
    );
  });
});

it('A block of the same network takes the place of the one before; one that is within another is told by its name', async () => {
  await block('198.51.100.77/24', '--for', '1h');
  await block('198.51.100.0/24', '--reason', 'again');
  expect(await blocks()).toMatchObject([{ network: '198.51.100.0/24', reason: 'again', expiresAt: null }]);
  expect((await adminCommand(app, ['block', 'remove', '198.51.100.5'])).failure).toBe(
    'Network 198.51.100.5/32 is not blocked. Nothing was changed. Blocked networks that overlap: 198.51.100.0/24.',
  );
  await unblock('198.51.100.9/24');
});

it('There are at most 1,000 blocks at a time', async () => {
  await app.prisma.addressBlock.createMany({
    data: Array.from({ length: 999 }, (_, index) => ({ network: `192.0.${index >> 8}.${index & 255}` })),
  });
  await block('203.0.113.50');
  expect((await adminCommand(app, ['block', 'add', '203.0.113.51'])).failure).toContain(
    'at most 1000 blocks',
  );
  await block('203.0.113.50', '--reason', 'the same again');
  await app.prisma.addressBlock.deleteMany();
});
