import { onTestFinished, vi } from 'vitest';

/** The longest delay of a timer, in milliseconds. */
const NEVER_MS = 2 ** 31 - 1;

/** Timers that do not fire by themselves. */
export interface HeldTimers {
  /** The lengths of the pending timeouts. */
  delays(): number[];
  /** The number of pending timeouts of this length. */
  count(milliseconds: number): number;
  /** Runs the newest pending timeout of this length now. */
  fire(milliseconds: number): void;
  /** Lets timers that are created from now on fire by themselves. */
  release(): void;
}

/**
 * Holds every timer of at least `fromMs` milliseconds that is created until `release`, so that neither polling nor the
 * periodic work of an instance happens in a test. Sockets, streams and shorter timers work as always.
 */
export function holdTimers(fromMs: number): HeldTimers {
  const { setTimeout: startTimeout, clearTimeout: stopTimeout, setInterval: startInterval } = globalThis;
  const held = new Map<unknown, { readonly milliseconds: number; readonly callback: () => void }>();
  globalThis.setTimeout = ((callback: (...args: unknown[]) => void, milliseconds = 0, ...args: unknown[]) => {
    if (!(milliseconds >= fromMs)) return startTimeout(callback, milliseconds, ...args);
    const timer = startTimeout(() => undefined, NEVER_MS).unref();
    held.set(timer, { milliseconds, callback: () => callback(...args) });
    return timer;
  }) as typeof setTimeout;
  globalThis.clearTimeout = ((timer?: Parameters<typeof clearTimeout>[0]) => {
    held.delete(timer);
    stopTimeout(timer);
  }) as typeof clearTimeout;
  globalThis.setInterval = ((callback: () => void, milliseconds = 0, ...args: []) =>
    milliseconds >= fromMs
      ? startInterval(() => undefined, NEVER_MS).unref()
      : startInterval(callback, milliseconds, ...args)) as typeof setInterval;
  const pending = (milliseconds: number) =>
    [...held].filter(([, timer]) => timer.milliseconds === milliseconds);
  return {
    delays: () => [...held.values()].map(({ milliseconds }) => milliseconds),
    count: (milliseconds) => pending(milliseconds).length,
    fire(milliseconds) {
      const newest = pending(milliseconds).at(-1);
      if (newest === undefined) throw new Error(`No timer of ${milliseconds} ms is pending.`);
      held.delete(newest[0]);
      newest[1].callback();
    },
    release() {
      Object.assign(globalThis, {
        setTimeout: startTimeout,
        clearTimeout: stopTimeout,
        setInterval: startInterval,
      });
    },
  };
}

/** Holds timers until the test is over. */
export function holdTimersInTest(fromMs: number): HeldTimers {
  const timers = holdTimers(fromMs);
  onTestFinished(() => timers.release());
  return timers;
}

/**
 * Stops `performance.now`, which limits of time depend on, until the test is over. Returns a function that lets time
 * pass. Real timers fire as always, and find that it is too early.
 */
export function stopTimeInTest(): (milliseconds: number) => void {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  return (milliseconds) => void vi.advanceTimersByTime(milliseconds);
}
