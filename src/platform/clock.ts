/** The time as a dependency, so that tests can control it. */
export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch. It can jump in either direction. */
  now(): number;
  /** Monotonic time in milliseconds since a fixed point in this process. Use it for durations. */
  elapsedMs(): number;
}

export const systemClock: Clock = { now: () => Date.now(), elapsedMs: () => performance.now() };
