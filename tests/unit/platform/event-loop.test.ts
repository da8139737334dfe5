import { beforeEach, describe, expect, it, vi } from 'vitest';
import { EventLoop } from '../../../src/platform/fairness/event-loop.ts';

const threadMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Keeps the thread busy, however busy the machine is. */
function work(ms: number): void {
  const untilMs = threadMs() + ms;
  while (threadMs() < untilMs);
}

// Use weighs less as time passes: a machine that gives the core to others must not make it pass.
beforeEach(() => void vi.spyOn(performance, 'now').mockImplementation(threadMs));

const pause = () => new Promise((resolve) => setTimeout(resolve, 2));

describe('The event loop as something that is shared', () => {
  it('lets work go on at once while nobody has been busy, and the service always', async () => {
    const loop = new EventLoop();
    await pause();
    expect(loop.enter('one')).toBeUndefined();
    work(20);
    expect(loop.enter(undefined)).toBeUndefined();
  });

  it('charges what an owner’s slices took, and has who used least go first once it is busy', async () => {
    const loop = new EventLoop();
    await pause();
    expect(loop.enter('heavy')).toBeUndefined();
    // Far apart: light is charged also for what the machine does until its slot, and new comes later.
    work(200);
    loop.charge('light');
    work(50);
    const order: string[] = [];
    const slice = (owner: string, ms: number) =>
      Promise.resolve(loop.enter(owner)).then(() => {
        order.push(owner);
        work(ms);
      });
    await Promise.all([slice('heavy', 1), slice('heavy', 1), slice('light', 1), slice('new', 1)]);
    expect(order).toEqual(['new', 'light', 'heavy', 'heavy']);
    expect(loop.queue.use.weightOf('heavy')).toBeGreaterThan(loop.queue.use.weightOf('light'));
    expect(loop.queue.waitingCount).toBe(0);
  });

  it('lets others in between those who wait: a newcomer waits for a slice, not for all that was sent', async () => {
    const loop = new EventLoop();
    await pause();
    expect(loop.enter('flood')).toBeUndefined();
    work(10);
    const order: string[] = [];
    const slice = (owner: string) =>
      Promise.resolve(loop.enter(owner)).then(() => {
        order.push(owner);
        work(6);
      });
    const flood = Array.from({ length: 20 }, () => slice('flood'));
    await new Promise(setImmediate);
    const newcomer = slice('newcomer');
    await newcomer;
    expect(order.length).toBeLessThanOrEqual(4);
    await Promise.all(flood);
    expect(order).toHaveLength(21);
  });

  it('charges a step with its CPU time only, while other processes have the core', async () => {
    const loop = new EventLoop();
    await pause();
    let preemptedMs = 0;
    vi.mocked(performance.now).mockImplementation(() => threadMs() + preemptedMs);
    expect(loop.enter('preempted')).toBeUndefined();
    work(3);
    preemptedMs = 500;
    await new Promise(setImmediate);
    await loop.enter('busy');
    work(50);
    await new Promise(setImmediate);
    expect(loop.queue.use.weightOf('preempted')).toBeGreaterThan(0);
    expect(loop.queue.use.weightOf('preempted')).toBeLessThan(loop.queue.use.weightOf('busy') / 2);
  });

  it('charges nobody for what happens between slices', async () => {
    const loop = new EventLoop();
    const round = () => new Promise((resolve) => setImmediate(resolve));
    for (let number = 0; number < 20; number += 1) {
      await loop.enter('careful');
      await round();
      // A request that is rejected before it waits for the loop, or a result that comes back.
      work(10);
      loop.charge('busy');
      work(2);
      await round();
      work(10);
      await pause();
    }
    expect(loop.queue.use.weightOf('careful')).toBeLessThan(loop.queue.use.weightOf('busy'));
  });
});
