import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ClientSocket } from '../../../src/engine/documents/operation-request.ts';
import {
  connectionKey,
  createHalfOpenWatch,
  createStreamLimit,
  findUnacknowledged,
} from '../../../src/engine/subscriptions/stream-limit.ts';
import { ApiError } from '../../../src/platform/errors.ts';
import { createLogger } from '../../../src/platform/log/log.ts';

const HEADER =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     \n';
/** Rows as Linux writes them on a machine that is little-endian: 10.0.0.9:4000 to 10.0.0.7 and others. */
const TABLE = `${HEADER}   0: 0900000A:0FA0 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4104 1 0000000000000000 100 0 0 10 0
   1: 0900000A:0FA0 0700000A:B00C 01 00000003:00000000 01:000000DB 00000006     0        0 8341 3 0000000000000000 1 4 0 1 7
   2: 0900000A:0FA0 0700000A:B00D 01 00000003:00000000 01:000000DB 00000000     0        0 8342 3 0000000000000000 1 4 0 1 7
   3: 0900000A:0FA0 0800000A:B00C 01 00000000:00000000 02:000000DB 00000000  1000        3 8343 3 0000000000000000 1 4 0 1 7
10004: 0900000A:0FA0 FE00000A:0051 04 0001C200:00000000 04:000000DB 00000000 10000        5 8344 3 0000000000000000 1 4 0 1 7
`;
const TABLE6 = `${HEADER}   0: 00000000000000000000000001000000:0FA0 00000000000000000000000001000000:B00C 01 00000003:00000000 01:000000DB 00000002     0        0 8341 3 0000000000000000 1 4 0 1 7
   1: 0000000000000000FFFF00000900000A:0FA0 0000000000000000FFFF00000700000A:B00C 01 00000003:00000000 01:000000DB 00000001     0        0 8341 3 0000000000000000 1 4 0 1 7
`;

describe('the table of connections', () => {
  it('tells which have bytes that are not acknowledged, and how often those were sent', () => {
    expect([...findUnacknowledged(TABLE, 'ipv4', 'LE')]).toEqual([
      ['4000 10.0.0.7 45068', 6],
      ['4000 10.0.0.254 81', 5],
    ]);
    expect([...findUnacknowledged(TABLE6, 'ipv6', 'LE')]).toEqual([
      ['4000 ::1 45068', 2],
      ['4000 ::ffff:10.0.0.7 45068', 1],
    ]);
  });

  it('is read in the byte order of the machine', () => {
    const row = TABLE.split('\n')[2]?.replace('0700000A', '0A000007');
    expect([...findUnacknowledged(`${row}\n`, 'ipv4', 'BE').keys()]).toEqual(['4000 10.0.0.7 45068']);
  });

  it('names an address without its zone, as the kernel does', () => {
    expect(connectionKey(1, 'fe80::1%eth0', 2)).toBe('1 fe80::1 2');
  });
});

const lines: string[] = [];
const log = createLogger({
  level: 'debug',
  pretty: false,
  destination: { write: (line) => void lines.push(line) },
});
/** What the kernel says by the client's port. */
let failed = new Map<number, number>();
let looks = 0;
let readable = true;
async function unacknowledged() {
  looks += 1;
  if (!readable) return undefined;
  return new Map([...failed].map(([port, times]) => [`4000 10.0.0.7 ${port}`, times]));
}

class Socket implements ClientSocket {
  readonly localPort = 4000;
  readonly remoteAddress = '10.0.0.7';
  readonly remotePort: number;
  ended = false;
  constructor(port: number) {
    this.remotePort = port;
  }
  resetAndDestroy() {
    this.ended = true;
  }
}

function make() {
  const ended = vi.fn();
  return { ended, watch: createHalfOpenWatch({ log, onEnd: ended, unacknowledged }) };
}

beforeEach(() => {
  vi.useFakeTimers();
  failed = new Map();
  looks = 0;
  readable = true;
  return () => vi.useRealTimers();
});

describe('a watched connection', () => {
  it('is ended within 45 seconds once its client does not answer, and no other is', async () => {
    const { ended, watch } = make();
    const [dead, alive] = [new Socket(1), new Socket(2)];
    watch.watch(dead);
    watch.watch(alive);
    failed.set(1, 1);
    await vi.advanceTimersByTimeAsync(33_000);
    expect([dead.ended, alive.ended]).toEqual([true, false]);
    expect(ended).toHaveBeenCalledTimes(1);
  });

  it('is kept where the client answers again in time', async () => {
    const { watch } = make();
    const flaky = new Socket(1);
    watch.watch(flaky);
    for (let round = 0; round < 10; round += 1) {
      failed.set(1, 3);
      await vi.advanceTimersByTimeAsync(20_000);
      failed.delete(1);
      await vi.advanceTimersByTimeAsync(10_000);
    }
    expect(flaky.ended).toBe(false);
  });

  it('costs nothing once it is let go', async () => {
    const { watch } = make();
    const stop = watch.watch(new Socket(1));
    await vi.advanceTimersByTimeAsync(20_000);
    stop();
    await vi.advanceTimersByTimeAsync(20_000);
    const before = looks;
    await vi.advanceTimersByTimeAsync(100_000);
    expect(looks).toBe(before);
    const later = new Socket(2);
    watch.watch(later);
    failed.set(2, 1);
    await vi.advanceTimersByTimeAsync(40_000);
    expect(later.ended).toBe(true);
  });

  it('is left to TCP where the system does not tell, which is said once', async () => {
    readable = false;
    lines.length = 0;
    const { watch } = make();
    watch.watch(new Socket(1));
    await vi.advanceTimersByTimeAsync(100_000);
    watch.watch(new Socket(2));
    await vi.advanceTimersByTimeAsync(100_000);
    expect([looks, lines.length]).toEqual([1, 1]);
  });
});

describe('a client at its number of streams', () => {
  it('gets another one in place of those that do not answer', async () => {
    const { watch } = make();
    const limit = createStreamLimit({ maximum: 2, accountFactor: 1, halfOpen: watch });
    const open = (client: string, connection: Socket) => limit.open({ client, connection });
    const [one, two, three] = [new Socket(1), new Socket(2), new Socket(3)];
    await open('client', one);
    const close = await open('client', two);
    failed.set(1, 2);
    await open('client', three);
    expect([one.ended, two.ended, three.ended, limit.total]).toEqual([true, false, false, 2]);
    close();
    close();
    expect(limit.total).toBe(1);
  });

  it('is rejected where all of them answer, and loses none of another client', async () => {
    const { watch } = make();
    const limit = createStreamLimit({ maximum: 1, accountFactor: 1, halfOpen: watch });
    const open = (client: string, connection: Socket) => limit.open({ client, connection });
    const [own, other] = [new Socket(1), new Socket(2)];
    await open('client', own);
    await open('other', other);
    failed = new Map([
      [1, 1],
      [2, 9],
    ]);
    await expect(open('client', new Socket(3))).rejects.toThrow(ApiError);
    expect([own.ended, other.ended, limit.total]).toEqual([false, false, 2]);
  });

  it('makes one look a second, however often it asks', async () => {
    const { watch } = make();
    const limit = createStreamLimit({ maximum: 1, accountFactor: 1, halfOpen: watch });
    const open = (client: string, connection: Socket) => limit.open({ client, connection });
    await open('client', new Socket(1));
    const asked = Array.from({ length: 50 }, () => open('client', new Socket(2)));
    expect((await Promise.allSettled(asked)).map(({ status }) => status)).not.toContain('fulfilled');
    expect(looks).toBe(1);
    await vi.advanceTimersByTimeAsync(1_001);
    await expect(open('client', new Socket(2))).rejects.toThrow(ApiError);
    expect(looks).toBe(2);
  });
});
