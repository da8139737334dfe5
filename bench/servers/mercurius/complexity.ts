import { createRequire } from 'node:module';
import type { DocumentNode, FieldNode, GraphQLNamedType, GraphQLSchema, SelectionSetNode } from 'graphql';
import mercurius from 'mercurius';

/** The copy that Mercurius has: of a module there may be one for `import` and one for `require`. */
const { getNamedType, isObjectType } = createRequire(import.meta.url)('graphql') as typeof import('graphql');

type Variables = Readonly<Record<string, unknown>>;

/** What an operation costs with some sizes of its lists. */
interface Cost {
  readonly complexity: number;
  readonly aliases: number;
}

interface Known {
  /** The variables that say how long a list is. */
  readonly sizing: ReadonlySet<string>;
  readonly costs: Map<string, Cost>;
}

const MAX_COMPLEXITY = 5_000;
const MAX_ALIASES = 30;
const MAX_COSTS = 50;
const USUAL_SIZE = 20;

/** Counts as the service does: each field is one, a list is as many times what is in it. */
class Survey {
  readonly sizing = new Set<string>();
  aliases = 0;
  readonly #schema: GraphQLSchema;
  readonly #document: DocumentNode;
  readonly #variables: Variables;
  /** By name. */
  readonly #fragments = new Map<string, number>();

  constructor(schema: GraphQLSchema, document: DocumentNode, variables: Variables) {
    this.#schema = schema;
    this.#document = document;
    this.#variables = variables;
  }

  complexity(): number {
    let sum = 0;
    for (const node of this.#document.definitions)
      if (node.kind === 'OperationDefinition')
        sum += this.#inSelection(node.selectionSet, this.#schema.getRootType(node.operation));
    return sum;
  }

  #inSelection({ selections }: SelectionSetNode, type: GraphQLNamedType | null | undefined): number {
    let sum = 0;
    for (const node of selections) {
      if (node.kind === 'Field') sum += this.#inField(node, type);
      else if (node.kind === 'InlineFragment') sum += this.#inSelection(node.selectionSet, type);
      else sum += this.#inFragment(node.name.value);
    }
    return sum;
  }

  #inField(node: FieldNode, type: GraphQLNamedType | null | undefined): number {
    if (node.alias !== undefined) this.aliases += 1;
    if (node.selectionSet === undefined) return 1;
    const field = isObjectType(type) ? type.getFields()[node.name.value] : undefined;
    const inner = this.#inSelection(node.selectionSet, field && getNamedType(field.type));
    const size = field?.args.find(({ name }) => name === 'limit' || name === 'first')?.name;
    return 1 + inner * (size === undefined ? 1 : this.#size(node, size));
  }

  #size({ arguments: given = [] }: FieldNode, argument: string): number {
    const value = given.find(({ name }) => name.value === argument)?.value;
    if (value?.kind === 'IntValue') return Number(value.value);
    if (value?.kind !== 'Variable') return USUAL_SIZE;
    this.sizing.add(value.name.value);
    const size = this.#variables[value.name.value];
    return typeof size === 'number' ? size : USUAL_SIZE;
  }

  #inFragment(name: string): number {
    const known = this.#fragments.get(name);
    if (known !== undefined) return known;
    const fragment = this.#document.definitions.find(
      (node) => node.kind === 'FragmentDefinition' && node.name.value === name,
    );
    if (fragment?.kind !== 'FragmentDefinition') return 0;
    const type = this.#schema.getType(fragment.typeCondition.name.value);
    const complexity = this.#inSelection(fragment.selectionSet, type);
    this.#fragments.set(name, complexity);
    return complexity;
  }
}

const known = new WeakMap<DocumentNode, Known>();

function costOf(schema: GraphQLSchema, document: DocumentNode, variables: Variables): Cost {
  const before = known.get(document);
  const nameOf = (sizing: ReadonlySet<string>) => [...sizing].map((name) => String(variables[name])).join();
  const found = before?.costs.get(before.sizing.size === 0 ? '' : nameOf(before.sizing));
  if (found !== undefined) return found;
  const survey = new Survey(schema, document, variables);
  const cost = { complexity: survey.complexity(), aliases: survey.aliases };
  const { costs, sizing } = before ?? { sizing: survey.sizing, costs: new Map<string, Cost>() };
  if (costs.size < MAX_COSTS) costs.set(nameOf(sizing), cost);
  if (before === undefined) known.set(document, { sizing, costs });
  return cost;
}

/** Rejects an operation that would cost too much; counts once for each text and each set of sizes. */
export function checkComplexity(schema: GraphQLSchema, document: DocumentNode, variables: Variables): void {
  const { complexity, aliases } = costOf(schema, document, variables);
  if (complexity <= MAX_COMPLEXITY && aliases <= MAX_ALIASES) return;
  const message = `Complexity ${complexity} or ${aliases} aliases exceed the limits.`;
  throw new mercurius.ErrorWithProps(message, { code: 'COMPLEXITY_LIMIT' }, 400);
}
