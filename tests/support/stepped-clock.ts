import type { Clock } from '../../src/platform/clock.ts';

/** A clock that stands still until it is put forward. */
export interface SteppedClock extends Clock {
  advance(ms: number): void;
}

export function steppedClock(startMs = Date.UTC(2030, 0, 1)): SteppedClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance(ms) {
      nowMs += ms;
    },
  };
}
