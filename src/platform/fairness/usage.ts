/** Something was done too often on one day (UTC). The message is for clients. */
export class DailyLimitError extends Error {
  constructor(what: string, limit: number) {
    super(`${what} ${limit} times today, which is the limit. Try again tomorrow (UTC).`);
    this.name = 'DailyLimitError';
  }
}

export interface TopNamesOptions<Value> {
  /** How many names are kept. */
  readonly most: number;
  readonly create: () => Value;
}

interface Kept<Value> {
  readonly value: Value;
  uses: number;
}

/** After this many uses of names that are not kept, the names are chosen anew. */
const PERIOD = 1_000;
/** What a name needs in such a period: rare names, random ones above all, displace none. */
const MIN_USES = 20;
/** A newcomer replaces a name only if it is used this many times as often. */
const LEAD = 2;
/** A name with more than PERIOD / MAX_CANDIDATES uses in a period is among the candidates. */
const MAX_CANDIDATES = 100;

/**
 * The names that are used most, out of any number that clients make up, in bounded memory. The first come are kept. Among
 * the others, frequent ones are found as by Misra and Gries ("Finding repeated elements", 1982): each candidate's count is
 * at most its uses. From time to time they replace kept names that are used less.
 */
export class TopNames<Value> {
  readonly #options: TopNamesOptions<Value>;
  readonly #kept = new Map<string, Kept<Value>>();
  readonly #candidates = new Map<string, number>();
  #others = 0;

  constructor(options: TopNamesOptions<Value>) {
    this.#options = options;
  }

  /** Counts a use. Returns what is kept under the name; undefined if it is not among the kept. */
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
    // Names of the past give way in time.
    for (const kept of this.#kept.values()) kept.uses /= 2;
    this.#candidates.clear();
    this.#others = 0;
  }
}
