import fc from 'fast-check';
import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isLeafType,
  isNonNullType,
  isObjectType,
} from 'graphql';

/** What of the data random queries can name. */
export interface KnownData {
  readonly userIds: readonly string[];
  readonly postIds: readonly string[];
  readonly cursors: readonly string[];
  readonly tags: readonly string[];
  readonly instants: readonly string[];
}

export interface RandomQuery {
  readonly query: string;
  readonly variables: Record<string, boolean>;
}

/** Draws a whole number from 0 to `max`. */
type Draw = (max: number) => number;

const pick = <T>(draw: Draw, items: readonly T[]): T => items[draw(items.length - 1)] as T;

function argumentText(draw: Draw, name: string, data: KnownData, strange: boolean): string {
  if (name === 'limit' || name === 'first') return strange ? '101' : String(draw(4));
  if (name === 'offset') return String(draw(3));
  if (name === 'after') return strange ? '"nonsense"' : JSON.stringify(pick(draw, data.cursors));
  if (name === 'tag') return JSON.stringify(pick(draw, data.tags));
  if (name === 'createdAfter') return JSON.stringify(pick(draw, data.instants));
  return strange ? '"no-uuid"' : JSON.stringify(pick(draw, [...data.userIds, ...data.postIds]));
}

/** The one field that a member is refused on other accounts. */
const REFUSED = 'User.email';

/**
 * Writes a random operation over the query type: aliases, arguments, fragments, @skip and @include, connections. It has
 * one fault at most: which of two errors comes first is nobody's promise.
 */
class Writer {
  readonly #draw: Draw;
  readonly #schema: GraphQLSchema;
  readonly #data: KnownData;
  readonly #skippedFields: ReadonlySet<string>;
  readonly #fragments: string[] = [];
  #names = 0;
  #faulty = false;

  constructor(draw: Draw, schema: GraphQLSchema, data: KnownData, skippedFields: ReadonlySet<string>) {
    this.#draw = draw;
    this.#schema = schema;
    this.#data = data;
    this.#skippedFields = skippedFields;
  }

  #name(prefix: string): string {
    this.#names += 1;
    return `${prefix}${this.#names}`;
  }

  /** Whether to make the one fault here, once in so many places. */
  #fault(odds: number): boolean {
    if (this.#faulty || this.#draw(odds) !== 0) return false;
    this.#faulty = true;
    return true;
  }

  /** Leaves out what does not go together, but for a fault. */
  #consistent<T extends { readonly name: string }>(args: readonly T[]): readonly T[] {
    const names = new Set(args.map(({ name }) => name));
    const both = (a: string, b: string) => names.has(a) && names.has(b) && !this.#fault(3);
    const dropped = both('limit', 'first') ? 'first' : both('createdAfter', 'offset') ? 'offset' : undefined;
    return args.filter(({ name }) => name !== dropped);
  }

  #arguments(field: GraphQLField<unknown, unknown>): string {
    const chosen = field.args.filter((argument) => isNonNullType(argument.type) || this.#draw(2) === 0);
    const given = this.#consistent(chosen);
    const list =
      field.args.some(({ name }) => name === 'limit') &&
      !given.some(({ name }) => name === 'limit' || name === 'first');
    const texts = given.map(
      ({ name }) => `${name}: ${argumentText(this.#draw, name, this.#data, this.#fault(25))}`,
    );
    if (list) texts.push(`limit: ${this.#draw(3)}`);
    return texts.length === 0 ? '' : `(${texts.join(', ')})`;
  }

  #field(field: GraphQLField<unknown, unknown>, depth: number): string {
    const type = getNamedType(field.type);
    const alias = this.#draw(3) === 0 ? `${this.#name('a')}: ` : '';
    const condition =
      this.#draw(9) === 0
        ? ` ${pick(this.#draw, ['@skip(if: $yes)', '@skip(if: $no)', '@include(if: $yes)', '@include(if: $no)'])}`
        : '';
    const below = isObjectType(type) ? ` ${this.selections(type, depth - 1)}` : '';
    // Without an alias two fields of one name with other arguments would not be a valid document.
    const name =
      field.args.length > 0 && alias === '' ? `${this.#name('b')}: ${field.name}` : `${alias}${field.name}`;
    return `${name}${this.#arguments(field)}${condition}${below}`;
  }

  selections(type: GraphQLObjectType, depth: number): string {
    const fields = Object.values(type.getFields()).filter((field) => {
      const named = getNamedType(field.type);
      const coordinate = `${type.name}.${field.name}`;
      if (this.#skippedFields.has(coordinate)) return false;
      if (coordinate === REFUSED && !this.#fault(8)) return false;
      return isLeafType(named) || depth > 0;
    });
    if (fields.length === 0) return '{ __typename }';
    const parts: string[] = [];
    const count = 1 + this.#draw(3);
    for (let i = 0; i < count; i += 1) parts.push(this.#field(pick(this.#draw, fields), depth));
    if (this.#draw(5) === 0) parts.push('__typename');
    if (this.#draw(6) === 0)
      parts.push(`... on ${type.name} { ${this.#field(pick(this.#draw, fields), depth)} }`);
    if (this.#draw(8) === 0) {
      const name = this.#name('F');
      this.#fragments.push(
        `fragment ${name} on ${type.name} { ${this.#field(pick(this.#draw, fields), depth)} }`,
      );
      parts.push(`...${name}`);
    }
    return `{ ${parts.join(' ')} }`;
  }

  operation(): string {
    const query = this.#schema.getQueryType();
    if (query == null) throw new Error('the schema has no query type');
    const body = this.selections(query, 3);
    return `query ($yes: Boolean!, $no: Boolean!) { used: __typename @include(if: $yes) @skip(if: $no) ...Root } fragment Root on Query ${body} ${this.#fragments.join(' ')}`;
  }
}

/** Random valid queries over a schema and its data, from a seed that fast-check can shrink and repeat. */
export function randomQueries(
  schema: GraphQLSchema,
  data: KnownData,
  skippedFields: ReadonlySet<string>,
): fc.Arbitrary<RandomQuery> {
  return fc.infiniteStream(fc.nat({ max: 0x7fffffff })).map((stream) => {
    const draw: Draw = (max) => (stream.next().value as number) % (max + 1);
    const query = new Writer(draw, schema, data, skippedFields).operation();
    return { query, variables: { yes: true, no: false } };
  });
}
