import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Cancellation } from '../../../src/database/cancellation.ts';
import { halfLine, transactionLine } from '../../../src/database/database.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { Line, RecentUse, TurnRefusedError } from '../../../src/platform/fairness/fair-queue.ts';
import { stopTimeInTest } from '../../support/time/timers.ts';

const HEAVY_MS = 60_000;
const TWENTY_CONNECTIONS = loadConfig({
  DATABASE_URL: 'postgres://127.0.0.1/database',
  DATABASE_POOL_SIZE: '20',
});

/** A line of one place, which is taken, and the order in which others get it. */
function takenLine(maxWaiting = Number.POSITIVE_INFINITY) {
  const line = new Line<string>({ places: 1, maxWaiting });
  expect(line.enter(undefined)).toBe(true);
  const order: string[] = [];
  const wait = (owner: string | undefined, name = owner ?? 'the service') => {
    const cancellation = new Cancellation(undefined, owner);
    const done = line.wait(owner, cancellation).then((handedOver) => {
      order.push(handedOver === undefined ? name : `${name} with ${handedOver}`);
      line.leave(undefined, handedOver);
    });
    // Each is looked at later.
    done.catch(() => undefined);
    return { cancellation, done };
  };
  return { line, order, wait };
}

const reasonOf = (done: Promise<unknown>) =>
  done.then(
    () => undefined,
    (error: unknown) => (error instanceof TurnRefusedError ? error.reason : error),
  );

describe('The line for something that is shared', () => {
  it('lets in who has used it least of late, and of equals who came first', async () => {
    const { line, order, wait } = takenLine();
    line.use.add('heavy', HEAVY_MS);
    line.use.add('light', 1);
    const waiting = [
      wait('heavy', 'heavy 1'),
      wait('heavy', 'heavy 2'),
      wait('light'),
      wait('new 1'),
      wait(undefined),
      wait('new 2'),
    ];
    line.leave(undefined);
    await Promise.all(waiting.map(({ done }) => done));
    expect(order).toEqual(['the service', 'new 1', 'new 2', 'light', 'heavy 1', 'heavy 2']);
    expect({ inside: line.inside, waiting: line.waiting }).toEqual({ inside: 0, waiting: 0 });
  });

  it('lets in whoever uses a little, however many there are who use less', async () => {
    const line = new Line({ places: 1 });
    expect(line.enter(undefined)).toBe(true);
    line.use.add('ordinary', 70);
    line.use.add('heavy', HEAVY_MS);
    let done = false;
    const heavy = line.wait('heavy');
    const ordinary = line.wait('ordinary').then(() => {
      done = true;
    });
    const comers: Promise<unknown>[] = [];
    // For each that leaves two come, for the first time.
    while (!done && comers.length < 20_000) {
      comers.push(line.wait(`new ${comers.length}`), line.wait(`new ${comers.length + 1}`));
      line.leave(undefined);
      await new Promise(setImmediate);
    }
    expect(done).toBe(true);
    await ordinary;
    expect(line.waiting).toBeGreaterThan(comers.length / 2 - 1);
    while (line.waiting > 1) line.leave(undefined);
    await Promise.all(comers);
    line.leave(undefined);
    await heavy;
  });

  it('keeps a tenth of many places from each owner, for whoever else comes', async () => {
    const line = new Line<string>({ places: 20 });
    const enter = (owner: string | undefined, count: number) =>
      Array.from({ length: count }, () => line.enter(owner)).filter(Boolean).length;
    // Alone, it may have all.
    expect(enter('one', 20)).toBe(20);
    for (let left = 0; left < 20; left += 1) line.leave('one');
    expect(enter('another', 1)).toBe(1);
    line.leave('another');
    expect(enter('one', 20)).toBe(18);
    const waiting = line.wait('one');
    expect(enter('another', 20)).toBe(2);
    // The free place is not for who has most, until that is one fewer.
    expect(line.leave('another')).toBe(false);
    expect(enter('one', 1)).toBe(0);
    expect(line.leave('one', 'its place')).toBe(true);
    expect(await waiting).toBe('its place');
    expect(enter(undefined, 20)).toBe(1);
    expect(line.inside).toBe(20);
  });

  it.each([
    ['all but a tenth of its places', 'all of them', () => new Line({ places: 20 }), [18, 20]],
    ['half of the connections', 'one more', () => halfLine(TWENTY_CONNECTIONS), [10, 11]],
  ] as const)(
    'gives one owner %s until no other owner has come for ten seconds, then %s',
    (_early, _late, create, [early, late]) => {
      const passTime = stopTimeInTest();
      const line = create();
      const enter = (owner: string) =>
        Array.from({ length: 20 }, () => line.enter(owner)).filter(Boolean).length;
      expect(line.enter('another')).toBe(true);
      line.leave('another');
      expect(enter('one')).toBe(early);
      passTime(9_999);
      expect(enter('one')).toBe(0);
      passTime(1);
      expect(enter('one')).toBe(late - early);
      // Another owner who comes begins the ten seconds again, also where no place is free.
      expect(line.enter('another')).toBe(false);
      line.leave('one');
      expect(enter('one')).toBe(0);
    },
  );

  it('gives one owner three mutation transactions, however long it has been alone', () => {
    const passTime = stopTimeInTest();
    const line = transactionLine(TWENTY_CONNECTIONS);
    const enter = (owner: string) =>
      Array.from({ length: 5 }, () => line.enter(owner)).filter(Boolean).length;
    expect(enter('one')).toBe(3);
    passTime(10_000);
    expect(enter('one')).toBe(0);
    expect(enter('another')).toBe(3);
  });

  it('hands on what its places hold', async () => {
    const { line, order, wait } = takenLine();
    const waiting = [wait('one'), wait('two')];
    expect(line.leave(undefined, 'the connection')).toBe(true);
    await Promise.all(waiting.map(({ done }) => done));
    expect(order).toEqual(['one with the connection', 'two with the connection']);
    expect(line.enter(undefined)).toBe(true);
    expect(line.leave(undefined, 'the connection')).toBe(false);
  });

  it('lets go of work that is called off, and gives its turn to the next', async () => {
    const { line, order, wait } = takenLine();
    const one = wait('one');
    const two = wait('two');
    one.cancellation.cancel();
    expect(await reasonOf(one.done)).toBe('cancelled');
    line.leave(undefined);
    await two.done;
    expect(order).toEqual(['two']);
  });

  it('sends all away when there is nothing to wait for, and serves who comes then', async () => {
    const { line, wait } = takenLine();
    const gone = new Error('gone');
    const reasons = ['one', 'two'].map((owner) => reasonOf(wait(owner).done));
    line.refuseAll(gone);
    expect(await Promise.all(reasons)).toEqual([gone, gone]);
    line.leave(undefined);
    expect([line.enter(undefined), line.enter(undefined)]).toEqual([true, false]);
  });

  it('is kept by one owner as long as nobody else comes', async () => {
    const { line, wait } = takenLine(4);
    const four = [1, 2, 3, 4].map(() => wait('one'));
    expect(await reasonOf(wait('one').done)).toBe('crowd');
    line.leave(undefined);
    await Promise.all(four.map(({ done }) => done));
  });

  it('refuses the last entry of whoever has most of a full line, and others only where each has one', async () => {
    const { line, order, wait } = takenLine(4);
    const crowd = [1, 2, 3].map((number) => wait('crowd', `crowd ${number}`));
    const single = wait('single');
    const comer = wait('comer');
    expect(await reasonOf(crowd[2]?.done ?? Promise.resolve())).toBe('crowd');
    // Two of the crowd, and one each of two others.
    const another = wait('another');
    expect(await reasonOf(crowd[1]?.done ?? Promise.resolve())).toBe('crowd');
    expect(await reasonOf(wait('too late').done)).toBe('full');
    expect(await reasonOf(wait('single').done)).toBe('crowd');
    line.leave(undefined);
    await Promise.all([crowd[0], single, comer, another].map((waiting) => waiting?.done));
    expect(order).toEqual(['crowd 1', 'single', 'comer', 'another']);
  });

  it('never holds more than it may, loses nobody, and refuses nobody who has less than another', async () => {
    const arrivals = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(arrivals, fc.integer({ min: 1, max: 8 }), async (owners, maxWaiting) => {
        const { line, wait } = takenLine(maxWaiting);
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
              expect(reason).toBe(most > 1 ? 'crowd' : 'full');
              waiting.set(owner, (waiting.get(owner) ?? 0) - 1);
            }),
          );
          await Promise.resolve().then(() => undefined);
          await new Promise(setImmediate);
          expect(line.waiting).toBeLessThanOrEqual(maxWaiting);
        }
        line.leave(undefined);
        await Promise.all(results);
        expect({ inside: line.inside, waiting: line.waiting }).toEqual({ inside: 0, waiting: 0 });
      }),
      { numRuns: 40 },
    );
  });

  it('gives equal shares to two whose demands differ ten times, and all to one alone', async () => {
    // What was used a while ago counts less.
    stopTimeInTest();
    const line = new Line({ places: 2 });
    const used = new Map<string, number>();
    let left = 2_000;
    // Work of 1 to 5 units; the greedy one asks for ten times as much at a time.
    const work = (owner: string, units: number) =>
      line.run(owner, async () => {
        await new Promise(setImmediate);
        used.set(owner, (used.get(owner) ?? 0) + units);
        line.use.add(owner, units);
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
    const use = new RecentUse();
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
