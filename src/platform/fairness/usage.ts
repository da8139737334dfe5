/** Clients see the message. */
export class DailyLimitError extends Error {
  constructor(what: string, limit: number) {
    super(`${what} ${limit} times today, which is the limit. Try again tomorrow (UTC).`);
    this.name = 'DailyLimitError';
  }
}

export interface TopNamesOptions<Value> {
  readonly most: number;
  readonly create: () => Value;
}

interface Kept<Value> {
  readonly value: Value;
  uses: number;
}

/** After this many uses of other names, the retained names are chosen again. */
const PERIOD = 1_000;
/** Rare names, such as random strings, replace no retained name. */
const MIN_USES = 20;
/** A new name replaces a retained name only if it is used this many times as often. */
const LEAD = 2;
/** Every name with more than PERIOD / MAX_CANDIDATES uses in a period is a candidate. */
const MAX_CANDIDATES = 100;

/**
 * Finds the most used names in limited memory, although clients can invent any number of names. The first
 * names are retained. Frequent other names are found by the algorithm of Misra and Gries ("Finding repeated
 * elements", 1982), whose counts never exceed the number of uses.
 */
export class TopNames<Value> {
  readonly #options: TopNamesOptions<Value>;
  readonly #kept = new Map<string, Kept<Value>>();
  readonly #candidates = new Map<string, number>();
  #others = 0;

  constructor(options: TopNamesOptions<Value>) {
    this.#options = options;
  }

  /** @returns the value of the name, or undefined if the name is not retained */
  use(name: string): Value | undefined {
    const found = this.#kept.get(name);
    if (found !== undefined) {
      found.uses += 1;
      return found.value;
    }
    if (this.#kept.size < this.#options.most) return this.#keep(name, 1);
    this.#propose(name);
    return undefined;
  }

  *entries(): Iterable<[name: string, value: Value]> {
    for (const [name, { value }] of this.#kept) yield [name, value];
  }

  #keep(name: string, uses: number): Value {
    const value = this.#options.create();
    this.#kept.set(name, { value, uses });
    return value;
  }

  #propose(name: string): void {
    const candidates = this.#candidates;
    const uses = candidates.get(name);
    if (uses !== undefined || candidates.size < MAX_CANDIDATES) candidates.set(name, (uses ?? 0) + 1);
    else
      for (const [other, count] of candidates)
        if (count === 1) candidates.delete(other);
        else candidates.set(other, count - 1);
    this.#others += 1;
    if (this.#others >= PERIOD) this.#choose();
  }

  #choose(): void {
    const coldest = [...this.#kept].sort(([, a], [, b]) => a.uses - b.uses);
    const hottest = [...this.#candidates].sort(([, a], [, b]) => b - a);
    for (const [index, [name, uses]] of hottest.entries()) {
      const cold = coldest[index];
      if (cold === undefined || uses < MIN_USES || uses < LEAD * cold[1].uses) break;
      this.#kept.delete(cold[0]);
      this.#keep(name, uses);
    }
    // The counts decay, so that newer names can replace unused names.
    for (const kept of this.#kept.values()) kept.uses /= 2;
    this.#candidates.clear();
    this.#others = 0;
  }
}
