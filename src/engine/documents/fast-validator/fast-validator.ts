import {
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  GraphQLBoolean,
  GraphQLNonNull,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
} from 'graphql';
import { type Fragments, haveSameArguments } from '../../core/selection.ts';
import {
  createSchemaTable,
  type FieldShape,
  Inputs,
  type ObjectShape,
  type SchemaTable,
} from './schema-table.ts';

/**
 * Limits visited selections and list items, with fragments expanded at each spread. Fragments that spread one another
 * multiply, so the full validation decides about larger documents.
 */
const MAX_STEPS = 2_000;
/** The type of the argument `if` of `@skip` and `@include`. */
const CONDITION = new GraphQLNonNull(GraphQLBoolean);

interface Merged {
  readonly node: FieldNode;
  readonly field: FieldShape;
  readonly sets: SelectionSetNode[];
}

interface ResponsePosition {
  readonly fields: Map<string, Merged>;
  /** False while the fragment is being followed. */
  spreads: Map<string, boolean> | undefined;
}

/** Validates one document. Every method returns false if its argument may be invalid. */
class FastValidation {
  readonly #table: SchemaTable;
  readonly #inputs: Inputs;
  readonly #fragments: Fragments;
  #defined = 0;
  readonly #spread = new Set<string>();
  #selections = 0;

  constructor(schema: GraphQLSchema, table: SchemaTable, fragments: Fragments) {
    this.#table = table;
    this.#fragments = fragments;
    this.#inputs = new Inputs(schema);
  }

  document({ definitions }: DocumentNode): boolean {
    let operation: OperationDefinitionNode | undefined;
    for (const node of definitions) {
      if (node.kind === Kind.OPERATION_DEFINITION) {
        // Variables and fragments would have to be checked for each operation, and several operations are rare.
        if (operation !== undefined) return false;
        operation = node;
      } else if (node.kind !== Kind.FRAGMENT_DEFINITION || !this.#isFragment(node)) return false;
    }
    return operation !== undefined && this.#operation(operation);
  }

  /** Fragments have unique names (GraphQL specification: Fragment Name Uniqueness). */
  #isFragment(node: FragmentDefinitionNode): boolean {
    const { name, directives = [], variableDefinitions = [] } = node;
    this.#defined += 1;
    return (
      directives.length === 0 && variableDefinitions.length === 0 && this.#fragments[name.value] === node
    );
  }

  #operation(node: OperationDefinitionNode): boolean {
    const { operation, directives = [], variableDefinitions = [], selectionSet } = node;
    const root = this.#table.root(operation);
    if (root === undefined || directives.length > 0) return false;
    if (operation === OperationTypeNode.SUBSCRIPTION && !isOneField(selectionSet)) return false;
    return (
      this.#inputs.define(variableDefinitions) &&
      this.#merge(root, [selectionSet]) &&
      this.#inputs.allUsed() &&
      // All fragments are used (GraphQL specification: Fragments Must Be Used).
      this.#spread.size === this.#defined
    );
  }

  /** Merges the selections on one object and everything below (GraphQL specification: Field Selection Merging). */
  #merge(type: ObjectShape, sets: readonly SelectionSetNode[]): boolean {
    const position: ResponsePosition = { fields: new Map(), spreads: undefined };
    for (const set of sets) if (!this.#collect(position, type, set)) return false;
    for (const { field, sets: below } of position.fields.values())
      if (field.object !== undefined && !this.#merge(field.object, below)) return false;
    return true;
  }

  /** The type belongs to the position or to the fragment around the selection. */
  #collect(position: ResponsePosition, type: ObjectShape, { selections }: SelectionSetNode): boolean {
    for (const node of selections) {
      this.#selections += 1;
      if (this.#selections + this.#inputs.items > MAX_STEPS) return false;
      const { directives } = node;
      if (directives !== undefined && directives.length > 0 && !this.#areConditions(directives)) return false;
      if (node.kind === Kind.FIELD) {
        if (!this.#field(position, type, node)) return false;
      } else if (node.kind === Kind.FRAGMENT_SPREAD) {
        if (!this.#fragment(position, type, node)) return false;
      } else {
        const { typeCondition, selectionSet } = node;
        const on = typeCondition === undefined ? type : this.#within(type, typeCondition.name.value);
        if (on === undefined || !this.#collect(position, on, selectionSet)) return false;
      }
    }
    return true;
  }

  /** @returns undefined if the spread may be impossible (GraphQL specification: Fragment Spread Is Possible) */
  #within(type: ObjectShape, name: string): ObjectShape | undefined {
    if (name === type.name) return type;
    return type.related.has(name) ? this.#table.type(name) : undefined;
  }

  /** The directives `skip` and `include` may each occur once (GraphQL specification: Validation, Directives). */
  #areConditions(directives: readonly DirectiveNode[]): boolean {
    const [one, two] = directives;
    if (directives.length > 2 || (two !== undefined && one?.name.value === two.name.value)) return false;
    return directives.every(({ name, arguments: args = [] }) => {
      const [argument] = args;
      return (
        (name.value === 'skip' || name.value === 'include') &&
        args.length === 1 &&
        argument?.name.value === 'if' &&
        this.#inputs.fits(CONDITION, argument.value, false)
      );
    });
  }

  /**
   * The field has a selection if and only if its type is an object (GraphQL specification: Leaf Field Selections).
   * Fields with a response name at one position must have equal names, types and arguments. GraphQL lets fields of
   * different object types differ, which the full validation decides.
   */
  #field({ fields }: ResponsePosition, type: ObjectShape, node: FieldNode): boolean {
    const { alias, name, arguments: args = [], selectionSet } = node;
    const field = type.fields.get(name.value);
    if (field === undefined || (field.object === undefined) !== (selectionSet === undefined)) return false;
    if (!this.#inputs.areArguments(field, args)) return false;
    const response = (alias ?? name).value;
    const same = fields.get(response);
    if (same === undefined)
      fields.set(response, { node, field, sets: selectionSet === undefined ? [] : [selectionSet] });
    else {
      if (!isSame(same.field, field) || !haveSameArguments(same.node, node)) return false;
      if (selectionSet !== undefined) same.sets.push(selectionSet);
    }
    return true;
  }

  /**
   * The fragment must be on a possible type and may not spread itself here. A fragment that spreads itself below a
   * field stops at MAX_STEPS.
   */
  #fragment(
    position: ResponsePosition,
    type: ObjectShape,
    { name: { value: name } }: FragmentSpreadNode,
  ): boolean {
    const fragment = this.#fragments[name];
    const on = fragment && this.#within(type, fragment.typeCondition.name.value);
    if (fragment === undefined || on === undefined) return false;
    const followed = position.spreads?.get(name);
    if (followed !== undefined) return followed;
    this.#spread.add(name);
    position.spreads ??= new Map();
    position.spreads.set(name, false);
    if (!this.#collect(position, on, fragment.selectionSet)) return false;
    position.spreads.set(name, true);
    return true;
  }
}

/** True if two fields are equal, even if their parent types differ. */
const isSame = (a: FieldShape, b: FieldShape): boolean => a === b || (a.name === b.name && a.type === b.type);

/** The root of a subscription should be one plain field (GraphQL specification: Single Root Field). */
function isOneField({ selections }: SelectionSetNode): boolean {
  const [only] = selections;
  return selections.length === 1 && only?.kind === Kind.FIELD && (only.directives ?? []).length === 0;
}

/** Returns true if a document is valid. After false, the full validation decides. */
export type FastValidator = (document: DocumentNode, fragments: Fragments) => boolean;

/**
 * Accepts, in one pass, most documents that clients write, with one operation, fragments and variables. graphql-js'
 * `validate` accepts every accepted document, too, with all of its rules and with NoSchemaIntrospectionCustomRule.
 * Never throws.
 */
export function createFastValidator(schema: GraphQLSchema): FastValidator {
  const table = createSchemaTable(schema);
  if (table === undefined) return () => false;
  return (document, fragments) => new FastValidation(schema, table, fragments).document(document);
}
