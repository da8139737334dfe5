/** A fragment that a definition spreads. */
export interface Spread {
  readonly name: string;
  /** Where in the text its dots are. */
  readonly at: number;
  /** How many fields of its definition it stands in; none that counts inside introspection. */
  readonly depth: number;
}

/** An operation or a fragment, as far as its text shows it. */
export interface Outline {
  /** The fragment's name; undefined for an operation. */
  readonly fragment: string | undefined;
  /** The depth of its own fields. */
  depth: number;
  readonly spreads: Spread[];
}

interface Selection {
  /** Response names and, with dots in front, spreads, each with its number. */
  readonly names: Map<string, number>;
  readonly depth: number;
  spreads: number;
  lastField: string;
}

/** Follows the selections of a text by its names and braces: what repeats in each, how deep they go, what they spread. */
export class Selections {
  overlaps = 0;
  readonly outlines: Outline[] = [];
  readonly #open: Selection[] = [];
  /** The names in front of a definition's first brace. */
  #head: string[] = [];
  /** What the next name is: that of a field unless something stands before it. */
  #next: 'field' | 'spread' | 'type' | 'other' = 'field';
  #dots = 0;
  /** Whether the next brace continues the selection that is open, being that of an inline fragment. */
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

  /** An alias was a response name already, and a directive's name is none. */
  aliasOrDirective(): void {
    this.#next = 'other';
  }

  enter(): void {
    const around = this.#open.at(-1);
    if (around !== undefined && this.#inline) this.#open.push(around);
    else {
      if (around === undefined) this.#define();
      // Under __schema and __type depth does not count (contract section 5).
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
