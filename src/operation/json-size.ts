/** The most that a unit of UTF-16 takes in JSON beyond the one byte that it takes at least: `\u0000`. */
const EXTRA_BYTES_A_UNIT = 5;
const BRACKETS = 2;
const QUOTES = 2;

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function hasToJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

/** Adds values up until they are past a maximum: what comes after that is not looked at. */
class Sum {
  /** Exact, or where texts are not looked at, what it is at least. */
  bytes = 0;
  /** The units of the texts that were not looked at. */
  unseen = 0;
  readonly #maximum: number;
  readonly #exact: boolean;

  constructor(maximum: number, exact: boolean) {
    this.#maximum = maximum;
    this.#exact = exact;
  }

  /** Adds a value and what is in it, as JSON.stringify writes it. */
  add(value: unknown): void {
    if (typeof value === 'string') this.#addText(value);
    else if (!isObject(value)) this.bytes += String(value).length;
    else if (Array.isArray(value)) this.#addItems(value);
    else if (hasToJson(value)) this.add(value.toJSON());
    else this.#addMembers(value);
  }

  #addText(text: string): void {
    if (this.#exact) this.bytes += Buffer.byteLength(JSON.stringify(text));
    else {
      this.bytes += text.length + QUOTES;
      this.unseen += text.length;
    }
  }

  #addItems(items: readonly unknown[]): void {
    this.bytes += BRACKETS + Math.max(0, items.length - 1);
    for (const item of items) {
      if (this.bytes > this.#maximum) return;
      this.add(item ?? null);
    }
  }

  #addMembers(object: object): void {
    this.bytes += BRACKETS;
    let commas = -1;
    for (const [name, value] of Object.entries(object)) {
      if (this.bytes > this.#maximum) return;
      if (value === undefined) continue;
      commas += 1;
      // The colon.
      this.bytes += 1;
      this.#addText(name);
      this.add(value);
    }
    this.bytes += Math.max(0, commas);
  }
}

/**
 * About how many bytes a value has as JSON in UTF-8, without making the text: one of 2^29 characters cannot be made, and
 * one nearly as long blocks everything else. It is above `maximum` exactly where the text is, and is then told of
 * the beginning alone. Most answers are far below: what their texts have at most is
 * enough then, and none is looked at.
 */
export function jsonSize(value: unknown, maximum: number): number {
  const rough = new Sum(maximum, false);
  rough.add(value);
  if (rough.bytes > maximum || rough.bytes + EXTRA_BYTES_A_UNIT * rough.unseen <= maximum) return rough.bytes;
  const exact = new Sum(maximum, true);
  exact.add(value);
  return exact.bytes;
}
