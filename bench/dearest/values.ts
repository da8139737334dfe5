import { type GraphQLArgument, type GraphQLObjectType, isNonNullType } from 'graphql';
import { RULES } from '../../src/modules/rules.ts';
import { type Draw, pick } from '../harness/random.ts';
import type { Known } from './known.ts';
import { fieldOf, type Value } from './operation.ts';

export const SIZES = [0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 10, 20, 25, 50, 70, 100] as const;
const OFFSETS = [1, 10, 100, 1_000, 5_000, 10_000] as const;
const TEXT_SIZES = [1, 1_000, 5_000, 50_000] as const;
const LETTERS = ['a', 'é', '\u0001', '"', '😀'] as const;
const TYPE_NAMES = ['Query', 'Post', 'Mutation', '__Schema', 'DateTime'] as const;

export const some = <T>(draw: Draw, items: readonly T[]): T => items[draw(items.length - 1)] as T;

/** Draws arguments, from what there is to name. */
export class Values {
  readonly #draw: Draw;
  readonly #known: Known;

  constructor(draw: Draw, known: Known) {
    this.#draw = draw;
    this.#known = known;
  }

  #text(max: number): string {
    const letter = pick(this.#draw, LETTERS);
    return letter.repeat(Math.min(max, pick(this.#draw, TEXT_SIZES)));
  }

  #id(field: string): string {
    const { userIds, postIds, ownPostIds, commentIds } = this.#known;
    if (field === 'user') return this.#draw(1) === 0 ? (userIds[0] ?? '') : some(this.#draw, userIds);
    if (field === 'deleteComment') return some(this.#draw, commentIds);
    return some(this.#draw, field === 'post' ? postIds : ownPostIds);
  }

  #value(field: string, { name }: GraphQLArgument): Value | undefined {
    const { tags, instants, cursors } = this.#known;
    switch (name) {
      case 'limit':
      case 'first':
        return pick(this.#draw, SIZES);
      case 'offset':
        return pick(this.#draw, OFFSETS);
      case 'tag':
        return some(this.#draw, tags);
      case 'createdAfter':
        return some(this.#draw, instants);
      case 'after':
        return some(this.#draw, cursors);
      case 'id':
      case 'postId':
        return this.#id(field);
      case 'name':
        return pick(this.#draw, TYPE_NAMES);
      case 'title':
        return `t${this.#text(RULES.post.title.max - 1)}`;
      case 'body':
        return this.#text(field === 'createComment' ? RULES.comment.body.max : Number.POSITIVE_INFINITY);
      case 'tags':
        return Array.from({ length: this.#draw(RULES.post.maxTags) }, (_, index) =>
          `${index}`.padEnd(50, pick(this.#draw, LETTERS)),
        );
      default:
        return undefined;
    }
  }

  /** The arguments of a field: those that it must have, and others with some luck. */
  args(type: GraphQLObjectType, name: string): Record<string, Value> {
    const args: Record<string, Value> = {};
    for (const argument of fieldOf(type, name).args) {
      const isSize = argument.name === 'limit';
      if (!isNonNullType(argument.type) && !isSize && this.#draw(3) > 0) continue;
      const value = argument.name === 'first' ? undefined : this.#value(name, argument);
      if (value !== undefined) args[argument.name] = value;
    }
    return args;
  }
}
