import type { GraphQLObjectType } from 'graphql';
import {
  argumentOf,
  fieldOf,
  type Operation,
  objectOf,
  rootOf,
  type Selected,
  type Value,
} from './operation.ts';

export interface Printed {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Longer texts are given in variables. */
const LONGEST_LITERAL = 60;
/** A selection of fewer characters is not worth a fragment. */
const SHORTEST_FRAGMENT = 25;

/** Writes one operation; what is selected more than once becomes a fragment, which spares aliases and tokens. */
class Printer {
  readonly variables = new Map<
    string,
    { readonly type: string; readonly name: string; readonly value: Value }
  >();
  readonly #aliasLength: number;
  /** How often a selection stands in the document, by its type and whole text. */
  readonly #times = new Map<string, number>();
  readonly #texts = new Map<readonly Selected[], string>();
  readonly #fragments = new Map<string, { readonly name: string; text: string }>();

  constructor({ aliasLength }: Operation) {
    this.#aliasLength = aliasLength;
  }

  #value(type: string, value: Value): string {
    const text = JSON.stringify(value);
    if (text.length <= LONGEST_LITERAL) return text;
    const key = `${type} ${text}`;
    const known = this.variables.get(key) ?? { type, value, name: `v${this.variables.size}` };
    this.variables.set(key, known);
    return `$${known.name}`;
  }

  #head(type: GraphQLObjectType, { name, args }: Selected): string {
    const field = fieldOf(type, name);
    const list = Object.entries(args).map(
      ([argument, value]) => `${argument}: ${this.#value(String(argumentOf(field, argument).type), value)}`,
    );
    return list.length === 0 ? name : `${name}(${list.join(', ')})`;
  }

  #fields(type: GraphQLObjectType, fields: readonly Selected[], inner: (field: Selected) => string): string {
    const names = new Set<string>();
    let aliases = 0;
    const parts = fields.map((field) => {
      const head = this.#head(type, field);
      const isNew = !names.has(field.name);
      names.add(field.name);
      if (!isNew) aliases += 1;
      const alias = isNew ? '' : `${`a${aliases}`.padEnd(this.#aliasLength, '_')}: `;
      return `${alias}${head}${inner(field)}`;
    });
    return parts.join(' ');
  }

  #below(
    type: GraphQLObjectType,
    field: Selected,
    print: (type: GraphQLObjectType, below: readonly Selected[]) => string,
  ) {
    const object = objectOf(fieldOf(type, field.name));
    return object === undefined || field.below.length === 0 ? '' : ` ${print(object, field.below)}`;
  }

  #key(type: GraphQLObjectType, fields: readonly Selected[]): string {
    let text = this.#texts.get(fields);
    if (text === undefined) {
      text = `${type.name} ${this.#whole(type, fields)}`;
      this.#texts.set(fields, text);
    }
    return text;
  }

  #whole(type: GraphQLObjectType, fields: readonly Selected[]): string {
    return `{ ${this.#fields(type, fields, (field) => this.#below(type, field, (object, below) => this.#whole(object, below)))} }`;
  }

  /** What is in a selection that was met before is not counted again. */
  #count(type: GraphQLObjectType, fields: readonly Selected[]): void {
    const key = this.#key(type, fields);
    const times = this.#times.get(key) ?? 0;
    this.#times.set(key, times + 1);
    if (times > 0) return;
    for (const field of fields) {
      const object = objectOf(fieldOf(type, field.name));
      if (object !== undefined && field.below.length > 0) this.#count(object, field.below);
    }
  }

  #selection(type: GraphQLObjectType, fields: readonly Selected[]): string {
    const key = this.#key(type, fields);
    const print = () =>
      `{ ${this.#fields(type, fields, (field) => this.#below(type, field, (object, below) => this.#selection(object, below)))} }`;
    if ((this.#times.get(key) ?? 0) < 2 || key.length < SHORTEST_FRAGMENT) return print();
    let fragment = this.#fragments.get(key);
    if (fragment === undefined) {
      fragment = { name: `F${this.#fragments.size}`, text: '' };
      this.#fragments.set(key, fragment);
      fragment.text = `fragment ${fragment.name} on ${type.name} ${print()}`;
    }
    return `{ ...${fragment.name} }`;
  }

  /** `first` is the alias of the first root field. */
  print(type: GraphQLObjectType, roots: readonly Selected[], first: string): string {
    for (const root of roots) {
      const object = objectOf(fieldOf(type, root.name));
      if (object !== undefined && root.below.length > 0) this.#count(object, root.below);
    }
    const fields = this.#fields(type, roots, (field) =>
      this.#below(type, field, (object, below) => this.#selection(object, below)),
    );
    return [`{ ${first}: ${fields} }`, ...[...this.#fragments.values()].map(({ text }) => text)].join(' ');
  }
}

/**
 * The text of an operation and its variables. Another `turn` makes another text, and another statement, of the same: an
 * attacker who pays as little as can be lets nobody prepare anything.
 */
export function print(operation: Operation, turn: number): Printed {
  const { kind, roots, padding } = operation;
  const printer = new Printer(operation);
  const text = printer.print(rootOf(operation), roots, `t${turn}`);
  const variables = [...printer.variables.values()];
  const declared = variables.map(({ name, type }) => `$${name}: ${type}`);
  const head = declared.length === 0 ? kind : `${kind}(${declared.join(', ')})`;
  return {
    query: `${head} ${text}`,
    variables: {
      ...Object.fromEntries(variables.map(({ name, value }) => [name, value])),
      ...(padding === 0 ? {} : { unused: Array.from({ length: padding >> 1 }, () => 0) }),
    },
  };
}
