type LabelValue = string | number;

/** Counts by the values of one or two labels, which must be few. Costs its caller two look-ups. */
export class Tally {
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
