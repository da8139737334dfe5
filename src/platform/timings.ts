/** Durations counted by bucket: a histogram that costs its caller a few additions. */
export class Timings {
  /** Upper bounds in seconds, in order. */
  readonly bounds: readonly number[];
  /** How many are in each bucket; the last is for those above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(seconds: number): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) at += 1;
    counts[at] = (counts[at] ?? 0) + 1;
    this.sum += seconds;
  }
}

/** Timings by the value of a label. The values must be few. */
export class TimingsBy {
  readonly #bounds: readonly number[];
  readonly #timings = new Map<string, Timings>();

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  of(value: string): Timings {
    let found = this.#timings.get(value);
    if (found === undefined) {
      found = new Timings(this.#bounds);
      this.#timings.set(value, found);
    }
    return found;
  }

  entries(): Iterable<[value: string, timings: Timings]> {
    return this.#timings;
  }
}
