import {
  type ArgumentNode,
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isInterfaceType,
  isObjectType,
  isRequiredArgument,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import { countedArgument, MAX_ITEMS } from '../../graphql/counted-argument.ts';

/** Arguments that multiply the cost below a list, or add to it. */
export const SIZE_ARGUMENTS: ReadonlySet<string> = new Set(['limit', 'first', 'offset']);

/**
 * How many items a value has as a list: one that is none stands for a list of it (GraphQL section 3.11). Items
 * beyond the maximum change no cost.
 */
export const itemsOf = (value: unknown): number =>
  Array.isArray(value) ? Math.min(value.length, MAX_ITEMS) : 1;

const ITEM: ValueNode = { kind: Kind.STRING, value: '' };

type Variables = Readonly<Record<string, unknown>>;

function directiveCondition(
  directives: readonly DirectiveNode[] | undefined,
  name: 'skip' | 'include',
): ValueNode | undefined {
  return directives
    ?.find((directive) => directive.name.value === name)
    ?.arguments?.find((argument) => argument.name.value === 'if')?.value;
}

/** The argument whose items multiply the cost of a field. */
const countedIn = (field: GraphQLField<unknown, unknown>): GraphQLArgument | undefined => {
  const counted = field.args.length === 0 ? undefined : countedArgument(field);
  return counted === undefined ? undefined : field.args.find(({ name }) => name === counted);
};

/** Whether a field lacks the list that its cost depends on, although it is required. Validation rejects it. */
const lacksItems = (counted: GraphQLArgument | undefined, { arguments: given = [] }: FieldNode): boolean =>
  counted !== undefined &&
  isRequiredArgument(counted) &&
  !given.some(({ name }) => name.value === counted.name);

/** Variable values, with the operation's defaults for absent ones. */
function withDefaults(
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Variables,
): Map<string, unknown> {
  const values = new Map<string, unknown>(Object.entries(given));
  for (const { variable, defaultValue } of variableDefinitions) {
    if (values.has(variable.name.value) || defaultValue === undefined) continue;
    if (defaultValue.kind === Kind.BOOLEAN) values.set(variable.name.value, defaultValue.value);
    if (defaultValue.kind === Kind.INT) values.set(variable.name.value, Number(defaultValue.value));
    if (defaultValue.kind === Kind.LIST) values.set(variable.name.value, defaultValue.values);
  }
  return values;
}

/**
 * Reduces an operation to what costs something. Skipped branches, introspection, elements unknown to the
 * schema and cyclic fragments are removed, and sizes become literals. Validation rejects what is removed as
 * invalid; it is more expensive and so runs after the limits.
 */
export function stripSkipped(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  given: Variables,
): DocumentNode {
  const variables = withDefaults(operation, given);
  const definitions = new Map<string, FragmentDefinitionNode>();
  for (const node of document.definitions)
    if (node.kind === Kind.FRAGMENT_DEFINITION) definitions.set(node.name.value, node);
  const fragments = new Map<string, FragmentDefinitionNode | undefined>();

  const literalOf = (value: ValueNode): unknown => {
    if (value.kind === Kind.VARIABLE) return variables.get(value.name.value);
    if (value.kind === Kind.BOOLEAN) return value.value;
    return value.kind === Kind.INT ? Number(value.value) : undefined;
  };

  function isSkipped({ directives }: SelectionNode): boolean {
    const skip = directiveCondition(directives, 'skip');
    const include = directiveCondition(directives, 'include');
    return (
      (skip !== undefined && literalOf(skip) === true) ||
      (include !== undefined && literalOf(include) === false)
    );
  }

  /** As many items as the list has. Null is as good as absent, except that validation rejects it where required. */
  function items(argument: ArgumentNode, counted: GraphQLArgument): ArgumentNode[] {
    const { value } = argument;
    const given = value.kind === Kind.LIST ? value.values : literalOf(value);
    const isNull = value.kind === Kind.NULL || (value.kind === Kind.VARIABLE && given == null);
    if (isNull && !isRequiredArgument(counted)) return [];
    return [{ ...argument, value: { kind: Kind.LIST, values: new Array(itemsOf(given)).fill(ITEM) } }];
  }

  function sizes(counted: GraphQLArgument | undefined, args: readonly ArgumentNode[] = []): ArgumentNode[] {
    return args.flatMap((argument): ArgumentNode[] => {
      if (argument.name.value === counted?.name) return items(argument, counted);
      const size = SIZE_ARGUMENTS.has(argument.name.value) ? literalOf(argument.value) : undefined;
      if (typeof size !== 'number' || !Number.isInteger(size)) return [];
      const bounded = Math.min(Math.max(size, -1), 1_000_000);
      return [{ ...argument, value: { kind: Kind.INT, value: String(bounded) } }];
    });
  }

  function pruneField(field: FieldNode, parent: GraphQLNamedType): FieldNode[] {
    const { selectionSet: _selections, directives: _directives, ...rest } = field;
    if (field.name.value.startsWith('__')) return [rest];
    const definition =
      isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[field.name.value] : undefined;
    if (definition === undefined) return [];
    const counted = countedIn(definition);
    if (lacksItems(counted, field)) return [];
    const type = getNamedType(definition.type);
    const selectionSet =
      field.selectionSet === undefined || !isCompositeType(type)
        ? undefined
        : pruneSelections(field.selectionSet, type);
    return [
      {
        ...rest,
        arguments: sizes(counted, field.arguments),
        ...(selectionSet === undefined ? {} : { selectionSet }),
      },
    ];
  }

  function pruneFragment(name: string): FragmentDefinitionNode | undefined {
    if (fragments.has(name)) return fragments.get(name);
    // Until its result is known: a fragment that spreads itself finds undefined.
    fragments.set(name, undefined);
    const definition = definitions.get(name);
    const type = definition === undefined ? undefined : schema.getType(definition.typeCondition.name.value);
    if (definition === undefined || type === undefined || !isCompositeType(type)) return undefined;
    const pruned = { ...definition, selectionSet: pruneSelections(definition.selectionSet, type) };
    fragments.set(name, pruned);
    return pruned;
  }

  function pruneSelection(selection: SelectionNode, parent: GraphQLNamedType): SelectionNode[] {
    if (isSkipped(selection)) return [];
    if (selection.kind === Kind.FIELD) return pruneField(selection, parent);
    if (selection.kind === Kind.FRAGMENT_SPREAD)
      return pruneFragment(selection.name.value) === undefined ? [] : [selection];
    const type =
      selection.typeCondition === undefined ? parent : schema.getType(selection.typeCondition.name.value);
    if (type === undefined || !isCompositeType(type)) return [];
    return [{ ...selection, selectionSet: pruneSelections(selection.selectionSet, type) }];
  }

  function pruneSelections(
    { selections, ...rest }: SelectionSetNode,
    parent: GraphQLNamedType,
  ): SelectionSetNode {
    return { ...rest, selections: selections.flatMap((selection) => pruneSelection(selection, parent)) };
  }

  const root = schema.getRootType(operation.operation);
  const selectionSet = root == null ? operation.selectionSet : pruneSelections(operation.selectionSet, root);
  const kept = [...fragments.values()].filter((fragment) => fragment !== undefined);
  return {
    kind: Kind.DOCUMENT,
    definitions: [{ ...operation, variableDefinitions: [], selectionSet }, ...kept],
  };
}
