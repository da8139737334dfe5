import type { Clock } from '../../../src/platform/deadline.ts';

/** A clock that stands still until it is put forward. */
export interface SteppedClock extends Clock {
  /** Lets time pass. */
  advance(ms: number): void;
  /** Sets the time of day forward or back, as somebody at the machine can. No time passes. */
  adjust(ms: number): void;
}

export function steppedClock(startMs = Date.UTC(2030, 0, 1)): SteppedClock {
  let nowMs = startMs;
  let passedMs = 0;
  return {
    now: () => nowMs,
    elapsedMs: () => passedMs,
    advance(ms) {
      nowMs += ms;
      passedMs += ms;
    },
    adjust(ms) {
      nowMs += ms;
    },
  };
}

/** A clock whose time of day and whose passing time are both what `now` says. */
export function clockOf(now: () => number): Clock {
  return { now, elapsedMs: now };
}
