import {
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isCompositeType,
  isInterfaceType,
  isListType,
  isObjectType,
  isRequiredArgument,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import { countedArgument, MAX_ITEMS } from '../../graphql/counted-argument.ts';
import { isIncluded } from '../../graphql/look-ahead/conditions.ts';
import type { Fragments } from '../../graphql/operation-plans.ts';
import { DEFAULT_LIMIT } from '../../graphql/pagination/arguments.ts';
import type { OperationCost } from '../../request/request-state.ts';

export type SchemaField = GraphQLField<unknown, unknown>;

type Variables = Readonly<Record<string, unknown>>;

/** Arguments that multiply the cost below a list, or add to it. */
export const SIZE_ARGUMENTS: ReadonlySet<string> = new Set(['limit', 'first', 'offset']);

/** What a field declares with Pothos' plugin: what it costs itself, and what multiplies the cost of its selection. */
type FieldCost = number | { readonly field?: number; readonly multiplier?: number };
type DeclaredCost = FieldCost | ((args: Record<string, unknown>) => FieldCost) | undefined;

/** What an operation costs with its variables. */
export interface Cost extends OperationCost {
  readonly rootFields: number;
  /** The schema fields that it selects at any depth. */
  readonly fields: readonly SchemaField[];
}

/** The cost of a selection, and how many fields it has itself, fragments expanded. */
interface Sum extends OperationCost {
  readonly fields: number;
}

const NOTHING: Sum = { complexity: 0, depth: 0, fields: 0 };
/** A meta field costs the same whatever it selects. */
const META: Sum = { complexity: 1, depth: 1, fields: 1 };

/**
 * How many items a value has as a list: one that is none stands for a list of it (GraphQL section 3.11). Items
 * beyond the maximum change no cost.
 */
export const itemsOf = (value: unknown): number =>
  Array.isArray(value) ? Math.min(value.length, MAX_ITEMS) : 1;

/** Variable values, with the operation's defaults for absent ones. Without a prototype: clients choose the names. */
function withDefaults({ variableDefinitions = [] }: OperationDefinitionNode, given: Variables): Variables {
  const values: Record<string, unknown> = Object.assign(Object.create(null), given);
  for (const { variable, defaultValue } of variableDefinitions)
    if (defaultValue !== undefined && !(variable.name.value in values))
      values[variable.name.value] = literalOf(defaultValue, values);
  return values;
}

/** The value of a node as far as a cost depends on it. */
function literalOf(node: ValueNode, variables: Variables): unknown {
  if (node.kind === Kind.VARIABLE) return variables[node.name.value];
  if (node.kind === Kind.INT) return Number(node.value);
  if (node.kind === Kind.LIST) return node.values;
  if (node.kind === Kind.NULL) return null;
  return node.kind === Kind.BOOLEAN ? node.value : node;
}

/**
 * Adds up what an operation costs: an invalid one too, since validation takes longer. What is skipped, unknown to the
 * schema, or a fragment within itself costs nothing.
 */
class CostWalk {
  readonly fields = new Set<SchemaField>();
  readonly #schema: GraphQLSchema;
  readonly #fragments: Fragments;
  readonly #variables: Variables;
  readonly #known = new Map<string, Sum>();

  constructor(schema: GraphQLSchema, fragments: Fragments, variables: Variables) {
    this.#schema = schema;
    this.#fragments = fragments;
    this.#variables = variables;
  }

  selection(parent: GraphQLNamedType, { selections }: SelectionSetNode): Sum {
    let [complexity, depth, fields] = [0, 0, 0];
    for (const node of selections) {
      if (!isIncluded(node.directives, this.#variables)) continue;
      const sum = this.#one(parent, node);
      complexity += sum.complexity;
      depth = Math.max(depth, sum.depth);
      fields += sum.fields;
    }
    return { complexity, depth, fields };
  }

  #one(parent: GraphQLNamedType, node: SelectionNode): Sum {
    if (node.kind === Kind.FIELD) return this.#field(parent, node);
    if (node.kind === Kind.FRAGMENT_SPREAD) return this.#fragment(node.name.value);
    return this.#on(node.typeCondition?.name.value ?? parent.name, node.selectionSet);
  }

  #fragment(name: string): Sum {
    const fragment = this.#fragments[name];
    if (fragment === undefined) return NOTHING;
    let sum = this.#known.get(name);
    if (sum === undefined) {
      // For a fragment within itself.
      this.#known.set(name, NOTHING);
      sum = this.#on(fragment.typeCondition.name.value, fragment.selectionSet);
      this.#known.set(name, sum);
    }
    return sum;
  }

  #on(typeName: string, set: SelectionSetNode): Sum {
    const type = this.#schema.getType(typeName);
    return isCompositeType(type) ? this.selection(type, set) : NOTHING;
  }

  #field(parent: GraphQLNamedType, node: FieldNode): Sum {
    const name = node.name.value;
    if (name.startsWith('__')) return META;
    const field = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined;
    if (field === undefined) return NOTHING;
    let declared = field.extensions.complexity as DeclaredCost;
    if (typeof declared === 'function') {
      const sizes = this.#sizes(field, node);
      if (sizes === undefined) return NOTHING;
      declared = declared(sizes);
    }
    this.fields.add(field);
    const own = typeof declared === 'number' ? { field: declared } : declared;
    const complexity = own?.field ?? 1;
    const type = node.selectionSet && getNamedType(field.type);
    if (node.selectionSet === undefined || !isCompositeType(type)) return { complexity, depth: 1, fields: 1 };
    const below = this.selection(type, node.selectionSet);
    const items = own?.multiplier ?? (isListType(getNullableType(field.type)) ? DEFAULT_LIMIT : 1);
    return {
      complexity: complexity + below.complexity * Math.max(items, 0),
      depth: 1 + below.depth,
      fields: 1,
    };
  }

  /** The arguments that a cost depends on; undefined if a required list is missing, which validation rejects. */
  #sizes(field: SchemaField, { arguments: given = [] }: FieldNode): Record<string, unknown> | undefined {
    const counted = countedArgument(field);
    const sizes: Record<string, unknown> = {};
    for (const argument of field.args) {
      const node = given.find(({ name }) => name.value === argument.name);
      const value = node && literalOf(node.value, this.#variables);
      if (argument.name !== counted) {
        if (SIZE_ARGUMENTS.has(argument.name) && Number.isInteger(value)) sizes[argument.name] = value;
      } else if (isRequiredArgument(argument)) {
        if (node === undefined) return undefined;
        sizes[argument.name] = new Array(itemsOf(value));
      } else if (value != null) sizes[argument.name] = new Array(itemsOf(value));
    }
    return sizes;
  }
}

/** The cost of an operation: what the fields of the schema declare, fragments expanded. */
export function costOf(
  schema: GraphQLSchema,
  fragments: Fragments,
  operation: OperationDefinitionNode,
  variables: Variables,
): Cost {
  const walk = new CostWalk(schema, fragments, withDefaults(operation, variables));
  const root = schema.getRootType(operation.operation);
  const { complexity, depth, fields } = root == null ? NOTHING : walk.selection(root, operation.selectionSet);
  return { complexity, depth, rootFields: fields, fields: [...walk.fields] };
}
