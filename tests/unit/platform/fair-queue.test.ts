import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Cancellation } from '../../../src/database/cancellation.ts';
import { createLongWorkQueue, createTransactionQueue } from '../../../src/database/database.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { DecayingUsage, FairQueue, QueueFullError } from '../../../src/platform/fairness/fair-queue.ts';
import { stopTimeInTest } from '../../support/time/timers.ts';

const HEAVY_MS = 60_000;
const TWENTY_CONNECTIONS = loadConfig({
  DATABASE_URL: 'postgres://127.0.0.1/database',
  DATABASE_POOL_SIZE: '20',
});

/** A queue of one slot, which is taken, and the order in which others get it. */
function takenQueue(maxWaiting = Number.POSITIVE_INFINITY) {
  const queue = new FairQueue<string>({ concurrency: 1, maxWaiting });
  expect(queue.acquire(undefined)).toBe(true);
  const order: string[] = [];
  const wait = (owner: string | undefined, name = owner ?? 'the service') => {
    const cancellation = new Cancellation(undefined, owner);
    const done = queue.wait(owner, cancellation).then((handedOver) => {
      order.push(handedOver === undefined ? name : `${name} with ${handedOver}`);
      queue.release(undefined, handedOver);
    });
    // Each is looked at later.
    done.catch(() => undefined);
    return { cancellation, done };
  };
  return { queue, order, wait };
}

const reasonOf = (done: Promise<unknown>) =>
  done.then(
    () => undefined,
    (error: unknown) => (error instanceof QueueFullError ? error.reason : error),
  );

describe('The queue for a shared resource', () => {
  it('admits the owner with the least recent use, and among equals the one that came first', async () => {
    const { queue, order, wait } = takenQueue();
    queue.use.add('heavy', HEAVY_MS);
    queue.use.add('light', 1);
    const waiting = [
      wait('heavy', 'heavy 1'),
      wait('heavy', 'heavy 2'),
      wait('light'),
      wait('new 1'),
      wait(undefined),
      wait('new 2'),
    ];
    queue.release(undefined);
    await Promise.all(waiting.map(({ done }) => done));
    expect(order).toEqual(['the service', 'new 1', 'new 2', 'light', 'heavy 1', 'heavy 2']);
    expect({ active: queue.activeCount, waiting: queue.waitingCount }).toEqual({ active: 0, waiting: 0 });
  });

  it('admits an owner with little use, however many owners use less', async () => {
    const queue = new FairQueue({ concurrency: 1 });
    expect(queue.acquire(undefined)).toBe(true);
    queue.use.add('ordinary', 70);
    queue.use.add('heavy', HEAVY_MS);
    let done = false;
    const heavy = queue.wait('heavy');
    const ordinary = queue.wait('ordinary').then(() => {
      done = true;
    });
    const comers: Promise<unknown>[] = [];
    // For each that releases its slot two new owners come.
    while (!done && comers.length < 20_000) {
      comers.push(queue.wait(`new ${comers.length}`), queue.wait(`new ${comers.length + 1}`));
      queue.release(undefined);
      await new Promise(setImmediate);
    }
    expect(done).toBe(true);
    await ordinary;
    expect(queue.waitingCount).toBeGreaterThan(comers.length / 2 - 1);
    while (queue.waitingCount > 1) queue.release(undefined);
    await Promise.all(comers);
    queue.release(undefined);
    await heavy;
  });

  it('lets the requests of a burst not go before the later request of an owner with little use', async () => {
    const passTime = stopTimeInTest();
    const queue = new FairQueue({ concurrency: 1 });
    expect(queue.acquire(undefined)).toBe(true);
    queue.use.add('ordinary', 60);
    const order: string[] = [];
    const step = (owner: string, ms: number) =>
      queue.wait(owner).then(() => {
        order.push(owner);
        queue.use.add(owner, ms);
      });
    const admitNext = async () => {
      // Most of the time goes to reading what the burst sends.
      passTime(50);
      queue.release(undefined);
      await new Promise(setImmediate);
    };
    const burst = Array.from({ length: 20 }, () => step('burst', 15));
    for (let admitted = 0; admitted < 3; admitted += 1) await admitNext();
    const ordinary = step('ordinary', 1);
    while (!order.includes('ordinary')) await admitNext();
    expect(order.indexOf('ordinary')).toBeLessThanOrEqual(4);
    while (queue.waitingCount > 0) await admitNext();
    await Promise.all([ordinary, ...burst]);
    expect(order).toHaveLength(21);
  });

  it('keeps a tenth of many slots free for other owners', async () => {
    const queue = new FairQueue<string>({ concurrency: 20 });
    const enter = (owner: string | undefined, count: number) =>
      Array.from({ length: count }, () => queue.acquire(owner)).filter(Boolean).length;
    // Alone, it may have all.
    expect(enter('one', 20)).toBe(20);
    for (let left = 0; left < 20; left += 1) queue.release('one');
    expect(enter('another', 1)).toBe(1);
    queue.release('another');
    expect(enter('one', 20)).toBe(18);
    const waiting = queue.wait('one');
    expect(enter('another', 20)).toBe(2);
    // The free slot is not for the owner with most slots, until it has one fewer.
    expect(queue.release('another')).toBe(false);
    expect(enter('one', 1)).toBe(0);
    expect(queue.release('one', 'its slot')).toBe(true);
    expect(await waiting).toBe('its slot');
    expect(enter(undefined, 20)).toBe(1);
    expect(queue.activeCount).toBe(20);
  });

  it.each([
    ['all but a tenth of its slots', 'all of them', () => new FairQueue({ concurrency: 20 }), [18, 20]],
    ['half of the connections', 'one more', () => createLongWorkQueue(TWENTY_CONNECTIONS), [10, 11]],
  ] as const)(
    'gives one owner %s until no other owner has come for ten seconds, then %s',
    (_early, _late, create, [early, late]) => {
      const passTime = stopTimeInTest();
      const queue = create();
      const enter = (owner: string) =>
        Array.from({ length: 20 }, () => queue.acquire(owner)).filter(Boolean).length;
      expect(queue.acquire('another')).toBe(true);
      queue.release('another');
      expect(enter('one')).toBe(early);
      passTime(9_999);
      expect(enter('one')).toBe(0);
      passTime(1);
      expect(enter('one')).toBe(late - early);
      // Another owner that comes starts the ten seconds again, also where no slot is free.
      expect(queue.acquire('another')).toBe(false);
      queue.release('one');
      expect(enter('one')).toBe(0);
    },
  );

  it('gives one owner three mutation transactions, however long it has been alone', () => {
    const passTime = stopTimeInTest();
    const queue = createTransactionQueue(TWENTY_CONNECTIONS);
    const enter = (owner: string) =>
      Array.from({ length: 5 }, () => queue.acquire(owner)).filter(Boolean).length;
    expect(enter('one')).toBe(3);
    passTime(10_000);
    expect(enter('one')).toBe(0);
    expect(enter('another')).toBe(3);
  });

  it('hands over what its slots hold', async () => {
    const { queue, order, wait } = takenQueue();
    const waiting = [wait('one'), wait('two')];
    expect(queue.release(undefined, 'the connection')).toBe(true);
    await Promise.all(waiting.map(({ done }) => done));
    expect(order).toEqual(['one with the connection', 'two with the connection']);
    expect(queue.acquire(undefined)).toBe(true);
    expect(queue.release(undefined, 'the connection')).toBe(false);
  });

  it('rejects work that is cancelled, and gives its slot to the next entry', async () => {
    const { queue, order, wait } = takenQueue();
    const one = wait('one');
    const two = wait('two');
    one.cancellation.cancel();
    expect(await reasonOf(one.done)).toBe('cancelled');
    queue.release(undefined);
    await two.done;
    expect(order).toEqual(['two']);
  });

  it('rejects all when there is nothing to wait for, and admits entries that come then', async () => {
    const { queue, wait } = takenQueue();
    const gone = new Error('gone');
    const reasons = ['one', 'two'].map((owner) => reasonOf(wait(owner).done));
    queue.rejectAll(gone);
    expect(await Promise.all(reasons)).toEqual([gone, gone]);
    queue.release(undefined);
    expect([queue.acquire(undefined), queue.acquire(undefined)]).toEqual([true, false]);
  });

  it('belongs to one owner as long as no other owner comes', async () => {
    const { queue, wait } = takenQueue(4);
    const four = [1, 2, 3, 4].map(() => wait('one'));
    expect(await reasonOf(wait('one').done)).toBe('owner_limit');
    queue.release(undefined);
    await Promise.all(four.map(({ done }) => done));
  });

  it('rejects the last entry of the owner with most entries, and others only where each has one', async () => {
    const { queue, order, wait } = takenQueue(4);
    const crowd = [1, 2, 3].map((number) => wait('crowd', `crowd ${number}`));
    const single = wait('single');
    const comer = wait('comer');
    expect(await reasonOf(crowd[2]?.done ?? Promise.resolve())).toBe('owner_limit');
    // Two of the crowd, and one each of two others.
    const another = wait('another');
    expect(await reasonOf(crowd[1]?.done ?? Promise.resolve())).toBe('owner_limit');
    expect(await reasonOf(wait('too late').done)).toBe('queue_full');
    expect(await reasonOf(wait('single').done)).toBe('owner_limit');
    queue.release(undefined);
    await Promise.all([crowd[0], single, comer, another].map((waiting) => waiting?.done));
    expect(order).toEqual(['crowd 1', 'single', 'comer', 'another']);
  });

  it('never exceeds its limit, loses no entry, and rejects no owner that has fewer entries than another', async () => {
    const arrivals = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(arrivals, fc.integer({ min: 1, max: 8 }), async (owners, maxWaiting) => {
        const { queue, wait } = takenQueue(maxWaiting);
        const waiting = new Map<string, number>();
        const results: Promise<unknown>[] = [];
        for (const number of owners) {
          const owner = `owner ${number}`;
          waiting.set(owner, (waiting.get(owner) ?? 0) + 1);
          results.push(
            reasonOf(wait(owner).done).then((reason) => {
              if (reason === undefined) return;
              const most = Math.max(...waiting.values());
              expect(waiting.get(owner)).toBe(most);
              expect(reason).toBe(most > 1 ? 'owner_limit' : 'queue_full');
              waiting.set(owner, (waiting.get(owner) ?? 0) - 1);
            }),
          );
          await Promise.resolve().then(() => undefined);
          await new Promise(setImmediate);
          expect(queue.waitingCount).toBeLessThanOrEqual(maxWaiting);
        }
        queue.release(undefined);
        await Promise.all(results);
        expect({ active: queue.activeCount, waiting: queue.waitingCount }).toEqual({ active: 0, waiting: 0 });
      }),
      { numRuns: 40 },
    );
  });

  it('gives equal shares to two whose demands differ ten times, and all to one alone', async () => {
    // What was used a while ago counts less.
    stopTimeInTest();
    const queue = new FairQueue({ concurrency: 2 });
    const used = new Map<string, number>();
    let left = 2_000;
    // Work of 1 to 5 units; the greedy one asks for ten times as much at a time.
    const work = (owner: string, units: number) =>
      queue.run(owner, async () => {
        await new Promise(setImmediate);
        used.set(owner, (used.get(owner) ?? 0) + units);
        queue.use.add(owner, units);
      });
    const client = async (owner: string, index: number) => {
      for (let turn = index; left > 0; turn += 1) {
        left -= 1;
        await work(owner, 1 + (turn % 5));
      }
    };
    const clients = (owner: string, count: number) =>
      Array.from({ length: count }, (_, index) => client(owner, index));
    await Promise.all([...clients('greedy', 40), ...clients('modest', 4)]);
    const [greedy = 0, modest = 0] = [used.get('greedy'), used.get('modest')];
    expect(Math.abs(greedy - modest) / (greedy + modest)).toBeLessThan(0.05);

    left = 200;
    await Promise.all(clients('alone', 40));
    expect(used.get('alone')).toBeGreaterThan(200);
  });
});

describe('Recent use', () => {
  it('is compared without a clock, decays, and survives being scaled down', () => {
    const use = new DecayingUsage();
    expect(use.weightOf('nobody')).toBe(0);
    use.add(undefined, HEAVY_MS);
    expect(use.weightOf(undefined)).toBe(0);
    use.add('much', 10);
    use.add('little', 9);
    expect(use.weightOf('much')).toBeGreaterThan(use.weightOf('little'));
    use.add('little', 2);
    expect(use.weightOf('little')).toBeGreaterThan(use.weightOf('much'));
  });
});
