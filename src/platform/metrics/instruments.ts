type LabelValue = string | number;

/** The values of the labels must be few. Each call costs two map look-ups. */
export class FastCounter {
  readonly #counts = new Map<LabelValue, Map<LabelValue, { value: number }>>();

  add(first: LabelValue, second: LabelValue = '', by = 1): void {
    let row = this.#counts.get(first);
    if (row === undefined) {
      row = new Map();
      this.#counts.set(first, row);
    }
    const cell = row.get(second);
    if (cell === undefined) row.set(second, { value: by });
    else cell.value += by;
  }

  *entries(): Iterable<[first: LabelValue, second: LabelValue, count: number]> {
    for (const [first, row] of this.#counts)
      for (const [second, { value }] of row) yield [first, second, value];
  }
}

export interface Exemplar {
  readonly traceId: string;
  readonly seconds: number;
  /** Seconds since the Unix epoch. */
  readonly atSeconds: number;
}

/** Each call costs a few additions. */
export class FastHistogram {
  readonly bounds: readonly number[];
  /** The last bucket is for durations above all bounds. */
  readonly counts: number[];
  sum = 0;
  /** The last observation with a sampled trace in each bucket. */
  readonly exemplars: (Exemplar | undefined)[] = [];

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  /** @param traceId only of a sampled trace */
  observe(seconds: number, traceId?: string): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) at += 1;
    counts[at] = (counts[at] ?? 0) + 1;
    this.sum += seconds;
    if (traceId !== undefined) this.exemplars[at] = { traceId, seconds, atSeconds: Date.now() / 1000 };
  }
}

/** The values of the label must be few. */
export class LabelledHistogram {
  readonly #bounds: readonly number[];
  readonly #histograms = new Map<string, FastHistogram>();

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  of(value: string): FastHistogram {
    let found = this.#histograms.get(value);
    if (found === undefined) {
      found = new FastHistogram(this.#bounds);
      this.#histograms.set(value, found);
    }
    return found;
  }

  entries(): Iterable<[value: string, histogram: FastHistogram]> {
    return this.#histograms;
  }
}
