/** A fragment spread in a definition. */
export interface Spread {
  readonly name: string;
  /** Offset of its dots in the text. */
  readonly at: number;
  /**
   * Number of enclosing fields in its definition; `-Infinity` inside introspection, which does not count as
   * depth.
   */
  readonly depth: number;
}

/** What the text shows of an operation or a fragment. */
export interface Outline {
  /** The fragment's name; undefined for an operation. */
  readonly fragment: string | undefined;
  /** Depth of its own fields, without fragment spreads. */
  depth: number;
  readonly spreads: Spread[];
}

interface Selection {
  /** Response names and, prefixed with dots, fragment spreads, each with its count. */
  readonly names: Map<string, number>;
  readonly depth: number;
  spreads: number;
  lastField: string;
}

/** Tracks the selections of a text by its names and braces: repetitions, depth and fragment spreads. */
export class Selections {
  overlaps = 0;
  readonly outlines: Outline[] = [];
  readonly #open: Selection[] = [];
  /** Names before the first brace of a definition. */
  #head: string[] = [];
  /** What the next name is: a field, unless something precedes it. */
  #next: 'field' | 'spread' | 'type' | 'other' = 'field';
  #dots = 0;
  /** Whether the next brace belongs to an inline fragment and so continues the open selection. */
  #inline = false;

  name(name: string): void {
    const kind = this.#next;
    this.#next = 'field';
    const selection = this.#open.at(-1);
    if (selection === undefined) this.#head.push(name);
    else if (kind === 'spread') this.#fragment(selection, name);
    else if (kind !== 'type') {
      selection.lastField = name;
      if (kind === 'field') this.#field(selection, name);
    }
  }

  #field(selection: Selection, name: string): void {
    const count = selection.names.get(name) ?? 0;
    selection.names.set(name, count + 1);
    this.overlaps += count;
    const outline = this.outlines.at(-1);
    if (outline !== undefined && selection.depth > outline.depth) outline.depth = selection.depth;
  }

  #fragment(selection: Selection, name: string): void {
    if (name === 'on') {
      this.#next = 'type';
      return;
    }
    this.#inline = false;
    const response = `...${name}`;
    if (selection.names.has(response)) return;
    selection.names.set(response, 1);
    this.overlaps += selection.spreads;
    selection.spreads += 1;
    this.outlines.at(-1)?.spreads.push({ name, at: this.#dots, depth: selection.depth - 1 });
  }

  spread(at: number): void {
    this.#next = 'spread';
    this.#dots = at;
    this.#inline = true;
  }

  /** The next name is not a response name: it follows an alias, which already counted, or is a directive. */
  aliasOrDirective(): void {
    this.#next = 'other';
  }

  enter(): void {
    const around = this.#open.at(-1);
    if (around !== undefined && this.#inline) this.#open.push(around);
    else {
      if (around === undefined) this.#define();
      // Depth does not count under __schema and __type (contract section 5).
      const depth = around?.lastField.startsWith('__') ? Number.NEGATIVE_INFINITY : (around?.depth ?? 0) + 1;
      this.#open.push({ names: new Map(), spreads: 0, depth, lastField: '' });
    }
    this.#inline = false;
    this.#next = 'field';
  }

  #define(): void {
    const [keyword, name] = this.#head;
    this.#head = [];
    this.outlines.push({ fragment: keyword === 'fragment' ? name : undefined, depth: 0, spreads: [] });
  }

  leave(): void {
    this.#open.pop();
  }
}
