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
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql';
import { DEFAULT_LIMIT, MAX_IDS, MAX_LIMIT, MAX_OFFSET } from './pages.ts';

/** The least and the most that a figure may be taken for, where the contract leaves room. */
export type Range = readonly [least: number, most: number];

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

/** How deep complexity is added up. */
const MOST_LEVELS = 200;
/** More than any limit: what is larger stays a number that can be multiplied. */
const ENOUGH = 1e12;

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
    return isObjectType(type) || isInterfaceType(type) ? type : undefined;
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
        const type = this.#type(selection.typeCondition?.name.value, last.around.type);
        const rest = selection.selectionSet.selections.values();
        open.push({ rest, around: { ...last.around, type, left }, trail: last.trail });
      } else if (!last.trail.includes(selection.name.value)) {
        const name = selection.name.value;
        const fragment = this.#asked.document.definitions.find(
          (node) => node.kind === Kind.FRAGMENT_DEFINITION && node.name.value === name,
        );
        if (fragment?.kind !== Kind.FRAGMENT_DEFINITION) continue;
        const type = this.#type(fragment.typeCondition.name.value, last.around.type);
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
    return definition === undefined ? undefined : this.#type(getNamedType(definition.type).name, undefined);
  }

  /** What an argument says of a list's size. One that no valid document has may count as if it were not there. */
  #sizes(field: FieldNode, name: string): readonly number[] {
    const node = field.arguments?.find((argument) => argument.name.value === name)?.value;
    if (node === undefined) return [];
    const coerced = this.#value(field, name);
    const raw = node.kind === Kind.VARIABLE ? this.#asked.inputs[node.name.value] : coerced;
    const plain = raw === coerced || raw === undefined;
    if (plain && typeof coerced === 'number' && Number.isInteger(coerced)) return [coerced];
    const sizes = [coerced, raw].filter((size) => typeof size === 'number');
    return sizes.length === 0 ? [] : [...sizes, DEFAULT_LIMIT];
  }

  /** How many ids a field is given. One that is no list stands for a list of it. */
  #ids(field: FieldNode): number {
    const ids = this.#value(field, 'ids');
    return Array.isArray(ids) ? clamp(ids.length, MAX_IDS) : 1;
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
    if (definition?.args.some(({ name }) => name === 'ids') === true)
      return [{ size: this.#ids(standing.field), skipped: 0 }];
    if (!sized) return [{ size: plain ? DEFAULT_LIMIT : 1, skipped: 0 }];
    const sizes = ['limit', 'first'].flatMap((name) => this.#sizes(standing.field, name));
    const offset = this.#value(standing.field, 'offset');
    const skipped = Math.ceil(clamp(typeof offset === 'number' ? offset : 0, MAX_OFFSET) / 10);
    return (sizes.length === 0 ? [DEFAULT_LIMIT] : sizes).map((size) => ({
      size: clamp(size, MAX_LIMIT),
      skipped,
    }));
  }

  complexity(set: SelectionSetNode, around: Omit<Standing, 'field'>, level = 0): Range {
    // Far past the limit of depth: whether it is past this one too makes no difference.
    if (level > MOST_LEVELS) return [0, ENOUGH];
    let [least, most] = [0, 0];
    for (const standing of this.side(set, around)) {
      if (standing.left) continue;
      const { selectionSet, name } = standing.field;
      const inside = { type: this.below(standing), left: false, depth: standing.depth + 1, told: false };
      const below: Range =
        selectionSet === undefined || SCHEMA_FIELDS.has(name.value)
          ? [0, 0]
          : this.complexity(selectionSet, inside, level + 1);
      const lists = this.#list(standing);
      least += Math.min(...lists.map(({ size, skipped }) => 1 + skipped + size * below[0]));
      most += Math.max(...lists.map(({ size, skipped }) => 1 + skipped + size * below[1]));
    }
    return [Math.min(least, ENOUGH), Math.min(most, ENOUGH)];
  }
}
