import {
  type ExecutionArgs,
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  getArgumentValues,
  getVariableValues,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
  type VariableValues,
} from 'graphql';
import { collectFields, type Fragments, NO_VARIABLES } from '../core/selection.ts';

const META_FIELDS = new Map<string, GraphQLField<unknown, unknown>>(
  [SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]),
);
/** Bytes of a pair of brackets, and of the quotes, colon and comma of a member name. */
const BRACKETS = 2;
const NAME = 4;

/**
 * Each selection on each schema element is computed once, so that nested lists and aliases cannot multiply the work.
 */
class IntrospectionSum {
  readonly #args: ExecutionArgs;
  readonly #fragments: Fragments;
  readonly #variableValues: VariableValues;
  readonly #known = new Map<string, Map<unknown, number>>();
  readonly #selections = new Map<SelectionSetNode, number>();

  constructor(args: ExecutionArgs, operation: OperationDefinitionNode, fragments: Fragments) {
    this.#args = args;
    this.#fragments = fragments;
    const { variableDefinitions = [] } = operation;
    const given = getVariableValues(args.schema, variableDefinitions, args.variableValues ?? {});
    this.#variableValues = given.variableValues ?? NO_VARIABLES;
  }

  fields(type: GraphQLObjectType, sets: readonly SelectionSetNode[]): Map<string, FieldNode[]> {
    return collectFields({ fragments: this.#fragments, variableValues: this.#variableValues }, type, sets);
  }

  field(field: GraphQLField<unknown, unknown>, source: unknown, nodes: readonly FieldNode[]): number {
    const [node] = nodes;
    if (node === undefined) return 0;
    let args: Record<string, unknown>;
    try {
      args = getArgumentValues(field, node, this.#variableValues);
    } catch {
      // Execution reports this error for the field alone, for example null for an argument whose variable has a
      // default.
      return 'null'.length;
    }
    const info = { schema: this.#args.schema } as GraphQLResolveInfo;
    const value: unknown = field.resolve?.(source, args, undefined, info);
    return this.#value(field.type, value, nodes);
  }

  #value(type: GraphQLOutputType, value: unknown, nodes: readonly FieldNode[]): number {
    if (value == null) return 'null'.length;
    if (isNonNullType(type)) return this.#value(type.ofType, value, nodes);
    if (isListType(type)) {
      const items = [...(value as Iterable<unknown>)];
      return items.reduce<number>(
        (bytes, item) => bytes + this.#value(type.ofType, item, nodes),
        BRACKETS + Math.max(0, items.length - 1),
      );
    }
    if (isObjectType(type)) return this.#object(type, value, nodes);
    return isLeafType(type) ? Buffer.byteLength(JSON.stringify(type.coerceOutputValue(value))) : 0;
  }

  #object(type: GraphQLObjectType, source: unknown, nodes: readonly FieldNode[]): number {
    const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    const key = sets.map((set) => this.#numberOf(set)).join();
    const known = this.#known.get(key) ?? new Map<unknown, number>();
    this.#known.set(key, known);
    let bytes = known.get(source);
    if (bytes !== undefined) return bytes;
    // Members have one comma fewer than their number.
    bytes = BRACKETS - 1;
    for (const [name, selected] of this.fields(type, sets)) {
      const field = type.getFields()[selected[0]?.name.value ?? ''];
      bytes += name.length + NAME;
      bytes += field === undefined ? type.name.length + BRACKETS : this.field(field, source, selected);
    }
    known.set(source, bytes);
    return bytes;
  }

  #numberOf(set: SelectionSetNode): number {
    const number = this.#selections.get(set) ?? this.#selections.size;
    this.#selections.set(set, number);
    return number;
  }
}

/** The size is computed beforehand, because graphql-js builds the response in one uninterruptible run. */
export function introspectionSize(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  fragments: Fragments,
): number {
  const query = args.schema.getQueryType();
  if (operation.operation !== 'query' || query == null) return 0;
  const sum = new IntrospectionSum(args, operation, fragments);
  let bytes = BRACKETS - 1;
  for (const [name, nodes] of sum.fields(query, [operation.selectionSet])) {
    const field = META_FIELDS.get(nodes[0]?.name.value ?? '');
    if (field !== undefined) bytes += name.length + NAME + sum.field(field, undefined, nodes);
  }
  return bytes;
}
