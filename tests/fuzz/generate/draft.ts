import type { GraphQLSchema } from 'graphql';
import type { Random } from '../../support/random.ts';
import { oneIn, weighted } from './draw.ts';
import type { Known } from './known.ts';
import { Names, randomStyles } from './names.ts';

/** A field as it was written under a response name: the same again merges with it. */
export interface Entry {
  readonly field: string;
  readonly args: string;
  /** The variables in its arguments. */
  readonly uses: ReadonlySet<string>;
  readonly below: Scope;
}

/** What stands under each response name of one selection, fragments included. */
export type Scope = Map<string, Entry>;

export interface Fragment {
  readonly name: string;
  readonly type: string;
  readonly own: Scope;
  readonly uses: ReadonlySet<string>;
  readonly text: string;
}

export interface VariableDefinition {
  readonly type: string;
  readonly text: string;
}

/** Whether all of one selection may be merged into another. */
export function fits(target: Scope, source: Scope): boolean {
  return [...source].every(([name, entry]) => {
    const there = target.get(name);
    if (there === undefined) return true;
    return there.field === entry.field && there.args === entry.args && fits(there.below, entry.below);
  });
}

export function merge(target: Scope, source: Scope): void {
  for (const [name, entry] of source) {
    const there = target.get(name);
    if (there === undefined) {
      const below: Scope = new Map();
      merge(below, entry.below);
      target.set(name, { ...entry, below });
    } else merge(there.below, entry.below);
  }
}

/** How much of what a document has. The smaller the figure, the more: it is once in so many times. */
export interface Manner {
  readonly alias: number;
  readonly fragment: number;
  readonly directive: number;
  readonly variable: number;
  readonly depth: number;
  readonly breadth: number;
}

/** Some documents have fields alone: what is kept simple takes ways of its own. */
const NEVER = 1_000_000;

function randomManner(random: Random): Manner {
  const isPlain = oneIn(random, 4);
  return {
    alias: random.pick([2, 3, 6, 20]),
    fragment: isPlain ? NEVER : random.pick([4, 8, 30]),
    directive: isPlain ? NEVER : random.pick([4, 12, 60]),
    variable: random.pick([2, 5, 30]),
    depth: weighted(random, [
      [3, 1],
      [8, 2],
      [8, 3],
      [3, 4],
      [1, 6],
      [1, 11],
    ]),
    breadth: random.pick([1, 2, 3, 3, 4, 6]),
  };
}

/** A document while it is written. */
export class Draft {
  readonly random: Random;
  readonly schema: GraphQLSchema;
  readonly known: Known;
  readonly names: Names;
  readonly manner: Manner;
  /** The aliases so far, by the type that they stand on. */
  readonly aliases = new Map<string, string[]>();
  readonly fragments = new Map<string, Fragment>();
  readonly definitions = new Map<string, VariableDefinition>();
  /** What the request gives for the variables. No prototype: a variable may be called `__proto__`. */
  readonly variables: Record<string, unknown> = Object.create(null);
  /** The variables of the operation, or of the fragment, that is being written. */
  uses = new Set<string>();
  /** So many more fields, about: documents that are too large are made on purpose. */
  room: number;
  #faults: number;

  constructor(random: Random, schema: GraphQLSchema, known: Known) {
    this.random = random;
    this.schema = schema;
    this.known = known;
    this.manner = randomManner(random);
    const fields = Object.values(schema.getTypeMap()).flatMap((type) =>
      'getFields' in type && !type.name.startsWith('__') ? Object.keys(type.getFields()) : [],
    );
    this.names = new Names(random, randomStyles(random), fields);
    this.room = 3 + random.below(random.pick([10, 30, 90]));
    this.#faults = weighted(random, [
      [12, 0],
      [5, 1],
      [1, 3],
    ]);
  }

  /** Whether to make one of the document's faults here, once in so many places. */
  fault(times: number): boolean {
    if (this.#faults === 0 || !oneIn(this.random, times)) return false;
    this.#faults -= 1;
    return true;
  }

  /** Writes something whose variables are its own. */
  apart<T>(write: () => T): { readonly written: T; readonly uses: ReadonlySet<string> } {
    const outer = this.uses;
    this.uses = new Set();
    const written = write();
    const { uses } = this;
    this.uses = outer;
    return { written, uses };
  }

  use(names: Iterable<string>): void {
    for (const name of names) this.uses.add(name);
  }
}
