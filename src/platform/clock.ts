/** The time, as a dependency, so that a test can hold it still. */
export interface Clock {
  /** The time of day: milliseconds since the Unix epoch. It can be set, back as well as forward. */
  now(): number;
  /** Milliseconds since some moment, the same one for as long as the process runs. It never goes back: for durations. */
  elapsedMs(): number;
}

export const systemClock: Clock = { now: () => Date.now(), elapsedMs: () => performance.now() };
