/** How often each status was answered. */
export class Statuses {
  readonly #counts: Map<number, number>;
  readonly add = (status: number): void => {
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + 1);
  };

  constructor(entries: Iterable<readonly [number, number]> = []) {
    this.#counts = new Map(entries);
  }

  static sum(all: readonly Statuses[]): Statuses {
    const sum = new Map<number, number>();
    for (const statuses of all)
      for (const [status, count] of statuses.entries()) sum.set(status, (sum.get(status) ?? 0) + count);
    return new Statuses(sum);
  }

  entries(): [number, number][] {
    return [...this.#counts];
  }

  of(status: number): number {
    return this.#counts.get(status) ?? 0;
  }

  toString(): string {
    const entries = this.entries().toSorted(([a], [b]) => a - b);
    return entries.map(([status, count]) => `${status}: ${count}`).join(', ');
  }
}
