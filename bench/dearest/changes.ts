import type { GraphQLObjectType } from 'graphql';
import { type Draw, pick } from '../harness/random.ts';
import type { Known } from './known.ts';
import {
  countFields,
  depthOf,
  fieldOf,
  fieldsOf,
  type Operation,
  objectOf,
  pointsOf,
  rootOf,
  type Selected,
} from './operation.ts';
import { SIZES, some, Values } from './values.ts';

const ALIAS_LENGTHS = [2, 2, 30, 100] as const;
const PADDINGS = [0, 0, 100_000, 250_000] as const;
/** What no operation that is accepted goes beyond (contract section 5), and what its fragments spread out to. */
const MAX_DEPTH = 10;
const MAX_POINTS = 5_000;
const MAX_FIELDS = 2_000;
const CHANGES_AT_ONCE = 3;
const MAX_COPIES = 8;
/** These need a session, which a search has no business with. */
const SESSION_ONLY = new Set([
  'apiKeys',
  'sessions',
  'oauthGrants',
  'changePassword',
  'createApiKey',
  'revokeApiKey',
  'revokeGrant',
  'revokeSession',
]);

type Fields = readonly Selected[];

/** Makes operations out of operations. */
export class Changes {
  readonly #draw: Draw;
  readonly #values: Values;

  constructor(draw: Draw, known: Known) {
    this.#draw = draw;
    this.#values = new Values(draw, known);
  }

  #new(type: GraphQLObjectType, levels: number): Selected {
    const fields = fieldsOf(type).filter(
      (field) => !SESSION_ONLY.has(field.name) && (levels > 0 || objectOf(field) === undefined),
    );
    const { name } = some(this.#draw, fields);
    const object = objectOf(fieldOf(type, name));
    const below = object === undefined ? [] : this.#several(object, levels - 1);
    return { name, args: this.#values.args(type, name), below };
  }

  #several(type: GraphQLObjectType, levels: number): Selected[] {
    return Array.from({ length: 1 + this.#draw(2) }, () => this.#new(type, levels));
  }

  /** Puts something else in place of one selection somewhere in the tree. */
  #somewhere(
    type: GraphQLObjectType,
    fields: Fields,
    change: (type: GraphQLObjectType, fields: Fields) => Fields,
  ): Fields {
    const inner = fields.flatMap((field, index) => (field.below.length > 0 ? [index] : []));
    if (inner.length === 0 || this.#draw(2) === 0) return change(type, fields);
    const at = some(this.#draw, inner);
    return fields.map((field, index) => {
      const object = objectOf(fieldOf(type, field.name));
      if (index !== at || object === undefined) return field;
      return { ...field, below: this.#somewhere(object, field.below, change) };
    });
  }

  /** All selections of a type in the tree. */
  #all(type: GraphQLObjectType, fields: Fields, wanted: GraphQLObjectType): Fields[] {
    const below = fields.flatMap((field) => {
      const object = objectOf(fieldOf(type, field.name));
      return object === undefined || field.below.length === 0 ? [] : this.#all(object, field.below, wanted);
    });
    return type === wanted ? [fields, ...below] : below;
  }

  #changed({ kind, roots }: Operation): (type: GraphQLObjectType, fields: Fields) => Fields {
    const draw = this.#draw;
    const root = rootOf({ kind });
    switch (draw(7)) {
      case 0:
        return (type, fields) => [...fields, this.#new(type, draw(4))];
      case 1:
        return (_, fields) => {
          const at = draw(fields.length - 1);
          return fields.length === 1 ? fields : fields.filter((__, index) => index !== at);
        };
      case 2:
        return (_, fields) => {
          const field = some(draw, fields);
          return [...fields, ...Array.from({ length: 1 + draw(MAX_COPIES - 1) }, () => field)];
        };
      case 3:
        // One after the other with sizes that differ: none can be read with another.
        return (_, fields) => {
          const field = some(draw, fields);
          const name = ['limit', 'first', 'offset'].find((size) => size in field.args);
          if (name === undefined) return fields;
          return [
            ...fields,
            ...Array.from({ length: 1 + draw(MAX_COPIES - 1) }, (__, index) => ({
              ...field,
              args: { ...field.args, [name]: Math.max(0, Number(field.args[name]) - index) },
            })),
          ];
        };
      case 4:
        return (type, fields) => {
          const at = draw(fields.length - 1);
          return fields.map((field, index) =>
            index === at ? { ...field, args: this.#values.args(type, field.name) } : field,
          );
        };
      case 5:
        return (type) => some(draw, this.#all(root, roots, type));
      case 6:
        return (type, fields) => this.#wrapped(type, fields);
      default:
        return (type) => this.#several(type, 1 + draw(4));
    }
  }

  /** The same one round of the graph deeper: a post's author's posts, a comment's post's comments. */
  #wrapped(type: GraphQLObjectType, fields: Fields): Fields {
    const limit = pick(this.#draw, SIZES);
    const field = (name: string, below: Fields, args = {}): Selected => ({ name, args, below });
    const listed = (name: string) =>
      this.#draw(2) > 0
        ? field(name, fields, { limit })
        : field(`${name}Connection`, [field('nodes', fields)], { first: limit });
    switch (type.name) {
      case 'Post':
        return [field('author', [listed('posts')])];
      case 'User':
        return [field('posts', [field('author', fields)], { limit })];
      case 'Comment':
        return [field('post', [listed('comments')])];
      default:
        return fields;
    }
  }

  /** Makes lists shorter until the operation is one that the service does not refuse. */
  #shortened(type: GraphQLObjectType, fields: Fields): Fields {
    let smaller = fields;
    for (let round = 0; round < 60 && pointsOf(type, smaller) > MAX_POINTS; round += 1)
      smaller = this.#somewhere(type, smaller, (_, some) =>
        some.map((field) => ({
          ...field,
          args: Object.fromEntries(
            Object.entries(field.args).map(([name, value]) =>
              typeof value === 'number' && this.#draw(1) === 0
                ? [name, Math.floor((value * 3) / 4)]
                : [name, value],
            ),
          ),
        })),
      );
    return smaller;
  }

  #traits(operation: Operation): Operation {
    switch (this.#draw(2)) {
      case 0:
        return { ...operation, aliasLength: pick(this.#draw, ALIAS_LENGTHS) };
      case 1:
        return { ...operation, padding: pick(this.#draw, PADDINGS) };
      default:
        return { ...operation, keyed: operation.kind === 'mutation' && !operation.keyed };
    }
  }

  /** Another operation, a few steps away; undefined where it is surely refused. */
  next(operation: Operation): Operation | undefined {
    let changed = operation;
    for (let count = 1 + this.#draw(CHANGES_AT_ONCE - 1); count > 0; count -= 1)
      changed =
        this.#draw(9) === 0
          ? this.#traits(changed)
          : { ...changed, roots: this.#somewhere(rootOf(changed), changed.roots, this.#changed(changed)) };
    if (depthOf(changed.roots) > MAX_DEPTH || countFields(changed.roots) > MAX_FIELDS) return undefined;
    const type = rootOf(changed);
    const roots = this.#shortened(type, changed.roots);
    return pointsOf(type, roots) > MAX_POINTS ? undefined : { ...changed, roots };
  }
}
