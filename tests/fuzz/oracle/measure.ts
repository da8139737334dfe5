import {
  type ArgumentNode,
  type FieldNode,
  getNamedType,
  isLeafType,
  isListType,
  isNonNullType,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import { DEFAULT_LIMIT, MAX_IDS, MAX_LIMIT, MAX_OFFSET } from '../../model/pages.ts';
import { SCHEMA_FIELDS, type Standing, Walk } from '../../model/walk.ts';

/** The least and the most that a figure may be taken for, where the contract leaves room. */
export type Range = readonly [least: number, most: number];

/** How deep complexity is added up. */
const MOST_LEVELS = 200;
/** What a total costs. */
const COUNT_COST = 1_000;
/** What a search costs, and a list of tags that begin with something. */
const SEARCH_COST = 800;
const PREFIX_COST = 100;
/** More than any limit: what is larger stays a number that can be multiplied. */
const ENOUGH = 1e12;

const clamp = (value: number, max: number) => Math.min(Math.max(value, 0), max);

/** Walks an operation as it would be executed, and adds up what it costs. */
export class Measure extends Walk {
  /** What an argument says of a list's size. One that no valid document has may count as if it were not there. */
  #sizes(field: FieldNode, name: string): readonly number[] {
    const node = field.arguments?.find((argument) => argument.name.value === name)?.value;
    if (node === undefined) return [];
    const coerced = this.value(field, name);
    const raw = node.kind === Kind.VARIABLE ? this.asked.inputs[node.name.value] : coerced;
    const plain = raw === coerced || raw === undefined;
    if (plain && typeof coerced === 'number' && Number.isInteger(coerced)) return [coerced];
    const sizes = [coerced, raw].filter((size) => typeof size === 'number');
    return sizes.length === 0 ? [] : [...sizes, DEFAULT_LIMIT];
  }

  /** How many ids a field is given. One that is no list stands for a list of it. */
  #ids(field: FieldNode): number {
    const ids = this.value(field, 'ids');
    return Array.isArray(ids) ? clamp(ids.length, MAX_IDS) : 1;
  }

  /** How many items a list may have and what of it is skipped, with each of the sizes that are given. */
  #list(standing: Standing): readonly { readonly size: number; readonly skipped: number }[] {
    const definition = this.definition(standing);
    const type = definition && (isNonNullType(definition.type) ? definition.type.ofType : definition.type);
    const sized = definition?.args.some(({ name }) => name === 'limit' || name === 'first') === true;
    // The lists of a connection are as long as the connection is told to be.
    const plain =
      isListType(type) &&
      !isLeafType(getNamedType(type)) &&
      standing.type?.name.endsWith('Connection') !== true;
    if (definition?.args.some(({ name }) => name === 'ids') === true)
      return [{ size: this.#ids(standing.field), skipped: 0 }];
    if (!sized) return [{ size: plain ? DEFAULT_LIMIT : 1, skipped: 0 }];
    const sizes = ['limit', 'first', 'last'].flatMap((name) => this.#sizes(standing.field, name));
    const offset = this.value(standing.field, 'offset');
    const skipped = Math.ceil(clamp(typeof offset === 'number' ? offset : 0, MAX_OFFSET) / 10);
    return (sizes.length === 0 ? [DEFAULT_LIMIT] : sizes).map((size) => ({
      size: clamp(size, MAX_LIMIT),
      skipped,
    }));
  }

  /** How many totals are asked for side by side. They cost the same whatever the size of the list around them. */
  #counts(set: SelectionSetNode, inside: Omit<Standing, 'field'>): number {
    return [...this.side(set, inside)].filter(({ left, field }) => !left && field.name.value === 'totalCount')
      .length;
  }

  /** What a field costs whatever the size of its list. A variable may hold a prefix. */
  #once({ type, field }: Standing): number {
    if (type?.name !== 'Query') return 0;
    if (field.name.value === 'searchPosts') return SEARCH_COST;
    const isPrefix = ({ name, value }: ArgumentNode) => name.value === 'prefix' && value.kind !== Kind.NULL;
    return field.name.value === 'tags' && field.arguments?.some(isPrefix) ? PREFIX_COST : 0;
  }

  /** The most that a filter may cost: 25 times what the page may hold and skips, twice where the skip is rounded up. */
  #checked({ field }: Standing): number {
    if (field.name.value === 'searchPosts') return 0;
    const names = new Set(field.arguments?.map(({ name }) => name.value));
    if (!names.has('filter') && !(names.has('tag') && names.has('orderBy'))) return 0;
    return 25 * (MAX_LIMIT + 1 + 2 * MAX_OFFSET);
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
      const counted = selectionSet === undefined ? 0 : COUNT_COST * this.#counts(selectionSet, inside);
      const once = counted + this.#once(standing);
      least += once;
      most += once + this.#checked(standing);
      least += Math.min(...lists.map(({ size, skipped }) => 1 + skipped + size * below[0]));
      most += Math.max(...lists.map(({ size, skipped }) => 1 + skipped + size * below[1]));
    }
    return [Math.min(least, ENOUGH), Math.min(most, ENOUGH)];
  }
}
