/** A UTF-16 code unit takes at least one byte in JSON, and at most this many more: `\u0000`. */
const EXTRA_BYTES_A_UNIT = 5;
const BRACKETS = 2;
const QUOTES = 2;

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function hasToJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

/** Adds up the sizes of values until they exceed a maximum; the rest is skipped. */
class Sum {
  /** Exact, or a lower bound if texts are not inspected. */
  bytes = 0;
  /** UTF-16 code units of the texts that were not inspected. */
  unseen = 0;
  readonly #maximum: number;
  readonly #exact: boolean;

  constructor(maximum: number, exact: boolean) {
    this.#maximum = maximum;
    this.#exact = exact;
  }

  /** Adds a value with its contents, as JSON.stringify writes it. */
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
 * The approximate size of a value as JSON in UTF-8, without building the text: a text of 2^29 characters
 * cannot be built, and one nearly as long blocks everything else. The result is above `maximum` exactly if
 * the text is; it then covers only the beginning. For most responses an upper bound of their texts is small
 * enough, and no text is inspected.
 */
export function jsonSize(value: unknown, maximum: number): number {
  const rough = new Sum(maximum, false);
  rough.add(value);
  if (rough.bytes > maximum || rough.bytes + EXTRA_BYTES_A_UNIT * rough.unseen <= maximum) return rough.bytes;
  const exact = new Sum(maximum, true);
  exact.add(value);
  return exact.bytes;
}
