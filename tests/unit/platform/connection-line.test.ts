import { describe, expect, it } from 'vitest';
import { Cancellation } from '../../../src/platform/db/cancellation.ts';
import { ConnectionLine, type Place } from '../../../src/platform/db/connection-line.ts';
import { DatabaseError } from '../../../src/platform/db/errors.ts';
import { RecentUse } from '../../../src/platform/db/recent-use.ts';

describe('The line for the connections of a pool', () => {
  const HEAVY_MS = 60_000;

  /** A line of one connection, which is taken, and the order in which others get it. */
  function fullLine() {
    const use = new RecentUse();
    const line = new ConnectionLine<string>(1, use);
    const first = line.enter('first') as Place;
    const order: string[] = [];
    const wait = (owner: string, name = owner) => {
      const cancellation = new Cancellation(undefined, owner);
      const done = line.wait(cancellation).then(({ place, connection }) => {
        order.push(connection === undefined ? name : `${name} on ${connection}`);
        line.leave(place, 0, connection);
      });
      return { cancellation, done };
    };
    return { use, line, first, order, wait };
  }

  it('lets in who has used connections least of late, and of equals who came first', async () => {
    const { use, line, first, order, wait } = fullLine();
    use.add('heavy', HEAVY_MS);
    use.add('light', 1);
    const waiting = [
      wait('heavy', 'heavy 1'),
      wait('heavy', 'heavy 2'),
      wait('light'),
      wait('new 1'),
      wait('new 2'),
    ];
    line.leave(first, 0);
    await Promise.all(waiting.map(({ done }) => done));
    expect(order).toEqual(['new 1', 'new 2', 'light', 'heavy 1', 'heavy 2']);
  });

  it('counts what is used while it is held', () => {
    const { use, line, first } = fullLine();
    expect(use.of('first')).toBe(0);
    line.leave({ ...first, sinceMs: first.sinceMs - HEAVY_MS }, 0);
    expect(use.of('first')).toBeGreaterThan(HEAVY_MS / 2);
    expect(use.of('first', performance.now() + 2 * HEAVY_MS)).toBeLessThan(1);
  });

  it('hands the connection on with the place', async () => {
    const { line, first, order, wait } = fullLine();
    const waiting = [wait('one'), wait('two')];
    expect(line.leave(first, 0, 'the connection')).toBe(true);
    await Promise.all(waiting.map(({ done }) => done));
    expect(order).toEqual(['one on the connection', 'two on the connection']);
    expect(line.leave(line.enter('three') as Place, 0, 'the connection')).toBe(false);
  });

  it('counts what comes over it, and nothing of what the process does meanwhile', () => {
    const { use, line, first } = fullLine();
    const endMs = performance.now() + 50;
    while (performance.now() < endMs);
    line.leave(first, 0);
    expect(use.of('first')).toBe(0);
    line.leave(line.enter('second') as Place, 8 * 1_048_576);
    expect(use.of('second')).toBeGreaterThan(20);
  });

  it('lets go of work that is called off, and gives its turn to the next', async () => {
    const { line, first, order, wait } = fullLine();
    const one = wait('one');
    const two = wait('two');
    one.cancellation.cancel();
    await expect(one.done).rejects.toMatchObject({ kind: 'timeout' });
    line.leave(first, 0);
    await two.done;
    expect(order).toEqual(['two']);
    expect(line.enter(undefined)).toBeDefined();
  });

  it('sends all away where there is nothing to connect to, and serves who comes then', async () => {
    const { line, first, wait } = fullLine();
    const gone = new DatabaseError('unavailable', new Error('gone'));
    const waiting = [wait('one'), wait('two')];
    const results = Promise.allSettled(waiting.map(({ done }) => done));
    line.refuseAll(gone);
    expect(await results).toEqual(waiting.map(() => ({ status: 'rejected', reason: gone })));
    line.leave(first, 0);
    expect(line.enter('three')).toBeDefined();
    expect(line.enter('four')).toBeUndefined();
  });
});
