import {
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql';
import { DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET } from './pages.ts';

/** The least and the most that a figure may be taken for, where the contract leaves room. */
export type Range = readonly [least: number, most: number];

export interface Asked {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** As they are coerced. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** How many selections are looked at: more than a document within the other limits has, unless its fragments double. */
const PATIENCE = 100_000;

/** A field where it stands in the operation once all fragments are spread. */
export interface Standing {
  readonly field: FieldNode;
  readonly type: GraphQLObjectType | undefined;
  readonly depth: number;
  /** Whether a condition leaves it out. */
  readonly left: boolean;
  /** Whether it is below `__schema` or `__type`, where these limits do not count. */
  readonly told: boolean;
}

const clamp = (value: number, max: number) => Math.min(Math.max(value, 0), max);

export const SCHEMA_FIELDS = new Set(['__schema', '__type']);

/** Walks an operation as it would be executed. */
export class Measure {
  readonly #asked: Asked;
  #patience = PATIENCE;

  constructor(asked: Asked) {
    this.#asked = asked;
  }

  get exhausted(): boolean {
    return this.#patience <= 0;
  }

  #type(name: string | undefined, otherwise: Standing['type']): Standing['type'] {
    const type = name === undefined ? otherwise : this.#asked.schema.getType(name);
    return isObjectType(type) ? type : undefined;
  }

  #value(of: FieldNode | DirectiveNode, name: string): unknown {
    const node = of.arguments?.find((argument) => argument.name.value === name)?.value;
    return node === undefined ? undefined : valueFromASTUntyped(node, this.#asked.variables);
  }

  /** Whether a part is left out. A condition that is null does not leave it out: it is an error of the execution. */
  #isLeft(directives: readonly DirectiveNode[] = []): boolean {
    return directives.some((directive) => {
      const value = this.#value(directive, 'if');
      return directive.name.value === 'skip'
        ? value === true
        : directive.name.value === 'include' && value === false;
    });
  }

  /** The fields that stand side by side in a selection, fragments spread. */
  *side(
    set: SelectionSetNode,
    around: Omit<Standing, 'field'>,
    trail: readonly string[] = [],
  ): Generator<Standing> {
    for (const selection of set.selections) {
      this.#patience -= 1;
      if (this.exhausted) return;
      const left = around.left || this.#isLeft(selection.directives);
      if (selection.kind === Kind.FIELD) yield { ...around, field: selection, left };
      else if (selection.kind === Kind.INLINE_FRAGMENT) {
        const type = this.#type(selection.typeCondition?.name.value, around.type);
        yield* this.side(selection.selectionSet, { ...around, type, left }, trail);
      } else if (!trail.includes(selection.name.value)) {
        const name = selection.name.value;
        const fragment = this.#asked.document.definitions.find(
          (node) => node.kind === Kind.FRAGMENT_DEFINITION && node.name.value === name,
        );
        if (fragment?.kind !== Kind.FRAGMENT_DEFINITION) continue;
        const type = this.#type(fragment.typeCondition.name.value, around.type);
        yield* this.side(fragment.selectionSet, { ...around, type, left }, [...trail, name]);
      }
    }
  }

  /** All fields of the operation, those below after the one that they are below of. */
  *all(set: SelectionSetNode, around: Omit<Standing, 'field'>): Generator<Standing> {
    for (const standing of this.side(set, around)) {
      yield standing;
      const { field, left, depth } = standing;
      const told = standing.told || SCHEMA_FIELDS.has(field.name.value);
      if (field.selectionSet === undefined) continue;
      yield* this.all(field.selectionSet, { type: this.below(standing), left, depth: depth + 1, told });
    }
  }

  definition({ field, type }: Standing): GraphQLField<unknown, unknown> | undefined {
    return type?.getFields()[field.name.value];
  }

  below(standing: Standing): Standing['type'] {
    const definition = this.definition(standing);
    return definition === undefined ? undefined : this.#type(getNamedType(definition.type).name, undefined);
  }

  /** How many items a list may have and what of it is skipped, with each of the sizes that are given. */
  #list(standing: Standing): readonly { readonly size: number; readonly skipped: number }[] {
    const definition = this.definition(standing);
    const type = definition && (isNonNullType(definition.type) ? definition.type.ofType : definition.type);
    const sized = definition?.args.some(({ name }) => name === 'limit') === true;
    // The lists of a connection are as long as the connection is told to be.
    const plain =
      isListType(type) &&
      !isLeafType(getNamedType(type)) &&
      standing.type?.name.endsWith('Connection') !== true;
    if (!sized) return [{ size: plain ? DEFAULT_LIMIT : 1, skipped: 0 }];
    const sizes = ['limit', 'first']
      .map((name) => this.#value(standing.field, name))
      .filter((size) => typeof size === 'number');
    const offset = this.#value(standing.field, 'offset');
    const skipped = Math.ceil(clamp(typeof offset === 'number' ? offset : 0, MAX_OFFSET) / 10);
    return (sizes.length === 0 ? [DEFAULT_LIMIT] : sizes).map((size) => ({
      size: clamp(size, MAX_LIMIT),
      skipped,
    }));
  }

  complexity(set: SelectionSetNode, around: Omit<Standing, 'field'>): Range {
    let [least, most] = [0, 0];
    for (const standing of this.side(set, around)) {
      if (standing.left) continue;
      const { selectionSet, name } = standing.field;
      const inside = { type: this.below(standing), left: false, depth: 0, told: false };
      const below: Range =
        selectionSet === undefined || SCHEMA_FIELDS.has(name.value)
          ? [0, 0]
          : this.complexity(selectionSet, inside);
      const lists = this.#list(standing);
      least += Math.min(...lists.map(({ size, skipped }) => 1 + skipped + size * below[0]));
      most += Math.max(...lists.map(({ size, skipped }) => 1 + skipped + size * below[1]));
    }
    return [least, most];
  }
}
