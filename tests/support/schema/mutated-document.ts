import fc from 'fast-check';
import { type DocumentNode, parse, print } from 'graphql';
import { DIRECTIVES, HOSTILE, TYPES, VALUES } from './hostile-parts.ts';

/** Draws a whole number from 0 to `max`. */
type Draw = (max: number) => number;

/** A node of a parsed document, as JSON. */
interface Node {
  kind: string;
  [member: string]: unknown;
}

const pick = <T>(draw: Draw, items: readonly T[]): T => items[draw(items.length - 1)] as T;
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'kind' in value;

/** Where directives may stand in the grammar. */
const WITH_DIRECTIVES = new Set([
  ...[
    'Field',
    'FragmentSpread',
    'InlineFragment',
    'OperationDefinition',
    'FragmentDefinition',
    'VariableDefinition',
  ],
]);

/** Changes a document in one place. Says nothing of what becomes of its validity. */
class Mutator {
  readonly #draw: Draw;
  readonly #document: Node & DocumentNode;
  readonly #nodes: Node[] = [];

  constructor(draw: Draw, document: DocumentNode) {
    this.#draw = draw;
    // Without locations, and with every node in one place only.
    this.#document = JSON.parse(JSON.stringify(document)) as Node & DocumentNode;
    this.#find(this.#document);
  }

  get text(): string {
    return print(this.#document);
  }

  #find(node: Node): void {
    this.#nodes.push(node);
    for (const value of Object.values(node))
      for (const item of Array.isArray(value) ? value : [value]) if (isNode(item)) this.#find(item);
  }

  #of(...kinds: string[]): Node[] {
    return this.#nodes.filter(({ kind }) => kinds.includes(kind));
  }

  /** The lists of nodes with something in them, by the member that holds them. */
  #lists(): { readonly member: string; readonly list: Node[] }[] {
    return this.#nodes.flatMap((node) =>
      Object.entries(node).flatMap(([member, list]) =>
        Array.isArray(list) && list.length > 0 ? [{ member, list: list as Node[] }] : [],
      ),
    );
  }

  /** A part of a document, parsed from its text. */
  #parsed(text: string, path: (document: DocumentNode) => unknown): Node {
    return JSON.parse(JSON.stringify(path(parse(text)))) as Node;
  }

  #value(): Node {
    const names = this.#of('Variable').map(({ name }) => `$${(name as Node).value}`);
    const text =
      this.#draw(3) === 0 ? pick(this.#draw, [...names, '$nope', '$__proto__']) : pick(this.#draw, VALUES);
    return this.#parsed(`{ a(b: ${text}) }`, ({ definitions: [operation] }) =>
      operation?.kind === 'OperationDefinition' && operation.selectionSet.selections[0]?.kind === 'Field'
        ? operation.selectionSet.selections[0].arguments?.[0]?.value
        : undefined,
    );
  }

  #directive(): Node {
    const names = this.#of('Variable').map(({ name }) => `@include(if: $${(name as Node).value})`);
    const text =
      this.#draw(3) === 0 ? pick(this.#draw, [...names, '@skip(if: $nope)']) : pick(this.#draw, DIRECTIVES);
    return this.#parsed(`query ${text} { a }`, ({ definitions: [operation] }) =>
      operation?.kind === 'OperationDefinition' ? operation.directives?.[0] : undefined,
    );
  }

  #selections(): Node[] {
    return this.#of('SelectionSet');
  }

  #selection(text: string): Node {
    return this.#parsed(`{ ${text} }`, ({ definitions: [operation] }) =>
      operation?.kind === 'OperationDefinition' ? operation.selectionSet.selections[0] : undefined,
    );
  }

  readonly #changes: Readonly<Record<string, () => void>> = {
    delete: () => {
      const { list } = pick(this.#draw, this.#lists());
      list.splice(this.#draw(list.length - 1), 1);
    },
    duplicate: () => {
      const { list } = pick(this.#draw, this.#lists());
      list.splice(this.#draw(list.length), 0, pick(this.#draw, list));
    },
    move: () => {
      const to = pick(this.#draw, this.#lists());
      const from = pick(
        this.#draw,
        this.#lists().filter(({ member }) => member === to.member),
      );
      // Copied: a node below itself would have no end.
      const moved = structuredClone(pick(this.#draw, from.list));
      to.list.splice(this.#draw(to.list.length), this.#draw(1), moved);
    },
    rename: () => {
      const names = this.#of('Name');
      const known = names.map(({ value }) => value as string);
      pick(this.#draw, names).value = pick(this.#draw, this.#draw(1) === 0 ? known : HOSTILE);
    },
    alias: () => {
      const fields = this.#of('Field');
      const name = fields.map(({ alias, name }) => ((alias ?? name) as Node).value as string);
      const value = pick(this.#draw, this.#draw(1) === 0 ? name : HOSTILE);
      pick(this.#draw, fields).alias = this.#draw(3) === 0 ? undefined : { kind: 'Name', value };
    },
    value: () => {
      const holders = this.#nodes.filter(({ value }) => isNode(value) && value.kind !== 'Name');
      if (holders.length > 0) pick(this.#draw, holders).value = this.#value();
    },
    argument: () => {
      const field = pick(this.#draw, this.#of('Field', 'Directive'));
      const known = this.#of('Argument').map(({ name }) => (name as Node).value as string);
      const value = pick(this.#draw, [...known, ...HOSTILE]);
      field.arguments = [
        ...((field.arguments as Node[] | undefined) ?? []),
        { kind: 'Argument', name: { kind: 'Name', value }, value: this.#value() },
      ];
    },
    /** A field twice at one place or two, with other arguments or as another field. */
    conflict: () => {
      const field = pick(this.#draw, this.#of('Field'));
      const copy = structuredClone(field);
      copy.alias = copy.alias ?? structuredClone(copy.name);
      const [argument] = (copy.arguments as Node[] | undefined) ?? [];
      if (argument !== undefined && this.#draw(3) > 0) argument.value = this.#value();
      else copy.name = { kind: 'Name', value: pick(this.#draw, HOSTILE) };
      const own = this.#selections().filter(({ selections }) => (selections as Node[]).includes(field));
      const { selections } = pick(this.#draw, this.#draw(2) === 0 ? this.#selections() : own);
      (selections as Node[]).push(copy);
    },
    directive: () => {
      const node = pick(
        this.#draw,
        this.#nodes.filter(({ kind }) => WITH_DIRECTIVES.has(kind)),
      );
      node.directives = [...((node.directives as Node[] | undefined) ?? []), this.#directive()];
    },
    variable: () => {
      const definitions = this.#of('VariableDefinition');
      if (definitions.length === 0 || this.#draw(3) === 0) {
        const operation = pick(this.#draw, this.#of('OperationDefinition'));
        const text = `query ($nope: ${pick(this.#draw, TYPES)}) { a }`;
        const added = this.#parsed(text, ({ definitions: [node] }) =>
          node?.kind === 'OperationDefinition' ? node.variableDefinitions?.[0] : undefined,
        );
        operation.variableDefinitions = [
          ...((operation.variableDefinitions as Node[] | undefined) ?? []),
          added,
        ];
        return;
      }
      const definition = pick(this.#draw, definitions);
      const type = definition.type as Node;
      const named = { kind: 'NamedType', name: { kind: 'Name', value: pick(this.#draw, TYPES) } };
      const list = { kind: 'ListType', type };
      const nonNull = type.kind === 'NonNullType' ? type.type : { kind: 'NonNullType', type };
      definition.type = pick<unknown>(this.#draw, [named, list, nonNull]);
    },
    standard: () => {
      const definitions = this.#of('VariableDefinition');
      if (definitions.length > 0)
        pick(this.#draw, definitions).defaultValue = this.#draw(2) === 0 ? undefined : this.#value();
    },
    condition: () => {
      const node = pick(this.#draw, this.#of('InlineFragment', 'FragmentDefinition', 'Document'));
      const value = pick(this.#draw, HOSTILE);
      node.typeCondition =
        this.#draw(5) === 0 ? undefined : { kind: 'NamedType', name: { kind: 'Name', value } };
    },
    spread: () => {
      const names = this.#of('FragmentDefinition').map(({ name }) => (name as Node).value as string);
      const { selections } = pick(this.#draw, this.#selections());
      (selections as Node[]).push(this.#selection(`...${pick(this.#draw, [...names, 'Nope', '__proto__'])}`));
    },
    wrap: () => {
      const set = pick(this.#draw, this.#selections());
      const on = pick(this.#draw, ['', '', ' on Query', ' on Post', ' on User', ' on Int', ' on Nope']);
      set.selections = [{ ...this.#selection(`...${on} { a }`), selectionSet: { ...set } }];
    },
    leaf: () => {
      const field = pick(this.#draw, this.#of('Field'));
      const other = structuredClone(pick(this.#draw, this.#selections()));
      field.selectionSet = this.#draw(1) === 0 ? undefined : other;
    },
    operation: () => {
      const operation = pick(this.#draw, this.#of('OperationDefinition'));
      if (this.#draw(1) === 0) operation.operation = pick(this.#draw, ['query', 'mutation', 'subscription']);
      else (this.#document.definitions as unknown[]).push(operation);
    },
    fragment: () => {
      const on = pick(this.#draw, ['Query', 'Post', 'User', 'Int', 'Nope']);
      const text = `fragment ${pick(this.#draw, ['F1', 'Nope', '__proto__'])} on ${on} { __typename }`;
      (this.#document.definitions as unknown[]).push(this.#parsed(text, ({ definitions: [node] }) => node));
    },
  };

  change(): void {
    this.#changes[pick(this.#draw, Object.keys(this.#changes))]?.();
  }
}

/** The texts with one to three changes each, which may have left them valid. Undefined where nothing parses any more. */
export function mutatedTexts(texts: fc.Arbitrary<string>): fc.Arbitrary<string | undefined> {
  return fc.tuple(texts, fc.infiniteStream(fc.nat({ max: 0x7fffffff }))).map(([text, stream]) => {
    const draw: Draw = (max) => (stream.next().value as number) % (max + 1);
    let mutated = text;
    try {
      for (let changes = 1 + (draw(3) === 0 ? draw(2) : 0); changes > 0; changes -= 1) {
        const mutator = new Mutator(draw, parse(mutated));
        mutator.change();
        ({ text: mutated } = mutator);
      }
      parse(mutated);
      return mutated;
    } catch {
      return undefined;
    }
  });
}
