import {
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql';

export interface Asked {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** As they are coerced. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** As they came: those that are not declared, or of another type, too. */
  readonly inputs: Readonly<Record<string, unknown>>;
}

/** How many selections are looked at: more than a document within the other limits has, unless its fragments double. */
const PATIENCE = 100_000;

/** A field where it stands in the operation once all fragments are spread. */
export interface Standing {
  readonly field: FieldNode;
  readonly type: GraphQLObjectType | GraphQLInterfaceType | undefined;
  readonly depth: number;
  /** Whether a condition leaves it out. */
  readonly left: boolean;
  /** Whether it is below `__schema` or `__type`, where these limits do not count. */
  readonly told: boolean;
}

export const SCHEMA_FIELDS = new Set(['__schema', '__type']);

/** Walks an operation as it would be executed. */
export class Walk {
  protected readonly asked: Asked;
  #patience = PATIENCE;

  constructor(asked: Asked) {
    this.asked = asked;
  }

  get exhausted(): boolean {
    return this.#patience <= 0;
  }

  protected type(name: string | undefined, otherwise: Standing['type']): Standing['type'] {
    const type = name === undefined ? otherwise : this.asked.schema.getType(name);
    return isObjectType(type) || isInterfaceType(type) ? type : undefined;
  }

  protected value(of: FieldNode | DirectiveNode, name: string): unknown {
    const node = of.arguments?.find((argument) => argument.name.value === name)?.value;
    return node === undefined ? undefined : valueFromASTUntyped(node, this.asked.variables);
  }

  /** Whether a part is left out. A condition that is null does not leave it out: it is an error of the execution. */
  #isLeft(directives: readonly DirectiveNode[] = []): boolean {
    return directives.some((directive) => {
      const value = this.value(directive, 'if');
      return directive.name.value === 'skip'
        ? value === true
        : directive.name.value === 'include' && value === false;
    });
  }

  /**
   * The fields that stand side by side in a selection, fragments spread. Without recursion, as `all`: a document within
   * the limit of tokens may be nested deeper than the stack.
   */
  *side(set: SelectionSetNode, around: Omit<Standing, 'field'>): Generator<Standing> {
    const open: {
      rest: Iterator<SelectionNode>;
      around: Omit<Standing, 'field'>;
      trail: readonly string[];
    }[] = [{ rest: set.selections.values(), around, trail: [] }];
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const { done, value: selection } = last.rest.next();
      if (done) {
        open.pop();
        continue;
      }
      this.#patience -= 1;
      if (this.exhausted) return;
      const left = last.around.left || this.#isLeft(selection.directives);
      if (selection.kind === Kind.FIELD) yield { ...last.around, field: selection, left };
      else if (selection.kind === Kind.INLINE_FRAGMENT) {
        const type = this.type(selection.typeCondition?.name.value, last.around.type);
        const rest = selection.selectionSet.selections.values();
        open.push({ rest, around: { ...last.around, type, left }, trail: last.trail });
      } else if (!last.trail.includes(selection.name.value)) {
        const name = selection.name.value;
        const fragment = this.asked.document.definitions.find(
          (node) => node.kind === Kind.FRAGMENT_DEFINITION && node.name.value === name,
        );
        if (fragment?.kind !== Kind.FRAGMENT_DEFINITION) continue;
        const type = this.type(fragment.typeCondition.name.value, last.around.type);
        const rest = fragment.selectionSet.selections.values();
        open.push({ rest, around: { ...last.around, type, left }, trail: [...last.trail, name] });
      }
    }
  }

  /** All fields of the operation, those below after the one that they are below of. */
  *all(set: SelectionSetNode, around: Omit<Standing, 'field'>): Generator<Standing> {
    const open = [this.side(set, around)];
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const { done, value: standing } = last.next();
      if (done) {
        open.pop();
        continue;
      }
      yield standing;
      const { field, left, depth } = standing;
      const told = standing.told || SCHEMA_FIELDS.has(field.name.value);
      if (field.selectionSet !== undefined)
        open.push(
          this.side(field.selectionSet, { type: this.below(standing), left, depth: depth + 1, told }),
        );
    }
  }

  definition({ field, type }: Standing): GraphQLField<unknown, unknown> | undefined {
    return type?.getFields()[field.name.value];
  }

  below(standing: Standing): Standing['type'] {
    const definition = this.definition(standing);
    return definition === undefined ? undefined : this.type(getNamedType(definition.type).name, undefined);
  }
}

/** Where the walk of an operation begins. */
export const atRoot = ({ schema, operation }: Asked): Omit<Standing, 'field'> => ({
  type: schema.getRootType(operation.operation) ?? undefined,
  depth: 1,
  left: false,
  told: false,
});

/** The root fields of an operation, fragments spread, with what is left out. */
export function rootFields(asked: Asked): readonly FieldNode[] {
  return [...new Walk(asked).side(asked.operation.selectionSet, atRoot(asked))].map(({ field }) => field);
}
