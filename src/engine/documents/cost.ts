import {
  type ArgumentNode,
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
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import { countedArgument, MAX_ITEMS } from '../core/field-options.ts';
import { type Fragments, isIncluded } from '../core/selection.ts';
import { DEFAULT_LIMIT } from '../queries/pagination.ts';
import type { OperationCost } from './operation-request.ts';

export type SchemaField = GraphQLField<unknown, unknown>;

type Variables = Readonly<Record<string, unknown>>;

/** These arguments multiply the cost below a list, or add to it. */
export const SIZE_ARGUMENTS: ReadonlySet<string> = new Set(['limit', 'first', 'last', 'offset']);

type FieldCost = number | { readonly field?: number; readonly multiplier?: number };
type DeclaredCost = FieldCost | ((args: Record<string, unknown>) => FieldCost) | undefined;

interface FieldCosts {
  readonly complexity?: DeclaredCost;
  /** Costs that a list around the field does not multiply. */
  readonly onceCost?: number;
  /** True if arguments may make a list check its rows one by one. */
  readonly checksRows?: (given: readonly ArgumentNode[]) => boolean;
}

export interface Cost extends OperationCost {
  readonly rootFields: number;
  /** The schema fields that the operation selects at any depth. */
  readonly fields: readonly SchemaField[];
}

/** `fields` counts the fields of the selection itself, fragments expanded. */
interface Sum {
  complexity: number;
  /** Complexity that a list does not multiply by its items. */
  once: number;
  depth: number;
  fields: number;
}

const NOTHING: Readonly<Sum> = { complexity: 0, once: 0, depth: 0, fields: 0 };
/** A meta field costs the same for every selection. */
const META: Readonly<Sum> = { complexity: 1, once: 0, depth: 1, fields: 1 };

function add(to: Sum, { complexity, once, depth, fields }: Readonly<Sum>): void {
  to.complexity += complexity;
  to.once += once;
  to.depth = Math.max(to.depth, depth);
  to.fields += fields;
}

/**
 * A single value stands for a list of it (GraphQL specification: List, Input Coercion). Items beyond the maximum change
 * no cost.
 */
export const itemsOf = (value: unknown): number =>
  Array.isArray(value) ? Math.min(value.length, MAX_ITEMS) : 1;

/** The object has no prototype, because clients choose the names. */
function withDefaults({ variableDefinitions = [] }: OperationDefinitionNode, given: Variables): Variables {
  const values: Record<string, unknown> = Object.assign(Object.create(null), given);
  for (const { variable, defaultValue } of variableDefinitions)
    if (defaultValue !== undefined && !(variable.name.value in values))
      values[variable.name.value] = readLiteral(defaultValue, values);
  return values;
}

/** Reads only values on which a cost depends. */
function readLiteral(node: ValueNode, variables: Variables): unknown {
  if (node.kind === Kind.VARIABLE) return variables[node.name.value];
  if (node.kind === Kind.INT) return Number(node.value);
  if (node.kind === Kind.LIST) return node.values;
  if (node.kind === Kind.NULL) return null;
  return node.kind === Kind.BOOLEAN ? node.value : node;
}

/**
 * Invalid operations have a cost, too, because validation takes longer. Skipped fields, fields unknown to the schema,
 * and fragments within themselves cost nothing.
 */
class CostWalk {
  readonly fields = new Set<SchemaField>();
  readonly #schema: GraphQLSchema;
  readonly #fragments: Fragments;
  readonly #variables: Variables;
  readonly #known = new Map<string, Readonly<Sum>>();

  constructor(schema: GraphQLSchema, fragments: Fragments, variables: Variables) {
    this.#schema = schema;
    this.#fragments = fragments;
    this.#variables = variables;
  }

  selection(parent: GraphQLNamedType, set: SelectionSetNode): Sum {
    const sum: Sum = { ...NOTHING };
    this.#addAll(sum, parent, set);
    return sum;
  }

  #addAll(sum: Sum, parent: GraphQLNamedType, { selections }: SelectionSetNode): void {
    for (const node of selections) {
      if (node.directives !== undefined && !isIncluded(node.directives, this.#variables)) continue;
      if (node.kind === Kind.FIELD) this.#addField(sum, parent, node);
      else if (node.kind === Kind.FRAGMENT_SPREAD) add(sum, this.#fragment(node.name.value));
      else this.#addOn(sum, node.typeCondition?.name.value ?? parent.name, node.selectionSet);
    }
  }

  #fragment(name: string): Readonly<Sum> {
    const fragment = this.#fragments[name];
    if (fragment === undefined) return NOTHING;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    // This entry stops the recursion of a fragment within itself.
    this.#known.set(name, NOTHING);
    const sum: Sum = { ...NOTHING };
    this.#addOn(sum, fragment.typeCondition.name.value, fragment.selectionSet);
    this.#known.set(name, sum);
    return sum;
  }

  #addOn(sum: Sum, typeName: string, set: SelectionSetNode): void {
    const type = this.#schema.getType(typeName);
    if (isCompositeType(type)) this.#addAll(sum, type, set);
  }

  #addField(sum: Sum, parent: GraphQLNamedType, node: FieldNode): void {
    const name = node.name.value;
    if (name.startsWith('__')) {
      add(sum, META);
      return;
    }
    const field = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined;
    if (field === undefined) return;
    const { complexity, onceCost = 0, checksRows } = field.extensions as FieldCosts;
    let declared = complexity;
    if (typeof declared === 'function') {
      const sizes = this.#sizes(field, node);
      if (sizes === undefined) return;
      declared = declared({ ...sizes, checksRows: checksRows?.(node.arguments ?? []) ?? false });
    }
    sum.once += onceCost;
    this.fields.add(field);
    const own = typeof declared === 'number' ? { field: declared } : declared;
    sum.complexity += own?.field ?? 1;
    sum.fields += 1;
    const type = node.selectionSet && getNamedType(field.type);
    if (node.selectionSet === undefined || !isCompositeType(type)) {
      sum.depth = Math.max(sum.depth, 1);
      return;
    }
    const below = this.selection(type, node.selectionSet);
    const items = own?.multiplier ?? (isListType(getNullableType(field.type)) ? DEFAULT_LIMIT : 1);
    sum.complexity += below.complexity * Math.max(items, 0) + below.once;
    sum.depth = Math.max(sum.depth, 1 + below.depth);
  }

  /** @returns undefined if a required list is missing, which validation rejects */
  #sizes(field: SchemaField, { arguments: given = [] }: FieldNode): Record<string, unknown> | undefined {
    const counted = countedArgument(field);
    const sizes: Record<string, unknown> = {};
    for (const argument of field.args) {
      const node = given.find(({ name }) => name.value === argument.name);
      const value = node && readLiteral(node.value, this.#variables);
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

export function costOf(
  schema: GraphQLSchema,
  fragments: Fragments,
  operation: OperationDefinitionNode,
  variables: Variables,
): Cost {
  const walk = new CostWalk(schema, fragments, withDefaults(operation, variables));
  const root = schema.getRootType(operation.operation);
  const { complexity, once, depth, fields } =
    root == null ? NOTHING : walk.selection(root, operation.selectionSet);
  return { complexity: complexity + once, depth, rootFields: fields, fields: [...walk.fields] };
}
