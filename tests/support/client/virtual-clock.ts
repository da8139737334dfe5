import type { Clock } from '../../../packages/client/src/clock.ts';

/** The clock of a client whose pauses take no time. */
export interface VirtualClock extends Clock {
  /** The lengths of all pauses so far, in milliseconds. */
  readonly pauses: number[];
  /** Lets time pass: timers that are due fire. */
  advance(durationMs: number): void;
  /** The machine sleeps: the time of day advances, and no timer does. */
  sleepMachine(durationMs: number): void;
}

interface Timer {
  dueMs: number;
  readonly callback: () => void;
}

/** The longest pause that is skipped. A longer one waits for a signal. */
const MAX_PAUSE_MS = 86_400_000;

/**
 * Creates a clock. A pause ends in the next turn of the event loop, and the clock has advanced by its length then. Timers
 * fire in `advance` only. Every random number is the same.
 */
export function createVirtualClock(random = 0.5): VirtualClock {
  let nowMs = Date.UTC(2030, 0, 1);
  const timers = new Set<Timer>();
  const pauses: number[] = [];

  const setTimer = (callback: () => void, delayMs: number) => {
    const timer = { dueMs: nowMs + delayMs, callback };
    timers.add(timer);
    return () => void timers.delete(timer);
  };

  return {
    pauses,
    nowMs: () => nowMs,
    random: () => random,
    setTimer,
    sleep: (delayMs, signals) =>
      new Promise((resolve) => {
        const isSkipped = delayMs <= MAX_PAUSE_MS;
        const finish = () => resolve();
        for (const signal of signals) signal.addEventListener('abort', finish, { once: true });
        if (signals.some(({ aborted }) => aborted)) return finish();
        if (!isSkipped) return;
        pauses.push(delayMs);
        setImmediate(() => {
          nowMs += delayMs;
          finish();
        });
      }),
    advance(durationMs) {
      const endMs = nowMs + durationMs;
      for (;;) {
        const due = [...timers].filter(({ dueMs }) => dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs)[0];
        if (due === undefined) break;
        timers.delete(due);
        nowMs = Math.max(nowMs, due.dueMs);
        due.callback();
      }
      nowMs = endMs;
    },
    sleepMachine(durationMs) {
      for (const timer of timers) timer.dueMs += durationMs;
      nowMs += durationMs;
    },
  };
}
