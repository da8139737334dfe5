import fc from 'fast-check';
import {
  type GraphQLField,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isNonNullType,
  isObjectType,
} from 'graphql';

/** What of the data random queries can name. */
export interface KnownData {
  readonly userIds: readonly string[];
  readonly postIds: readonly string[];
  readonly commentIds: readonly string[];
  readonly draftIds: readonly string[];
  readonly cursors: readonly string[];
  readonly tags: readonly string[];
  readonly handles: readonly string[];
  readonly instants: readonly string[];
}

export interface RandomQuery {
  readonly query: string;
  readonly variables: Record<string, unknown>;
}

/** Draws a whole number from 0 to `max`. */
type Draw = (max: number) => number;

const pick = <T>(draw: Draw, items: readonly T[]): T => items[draw(items.length - 1)] as T;

function filterText(draw: Draw, { userIds, tags, instants }: KnownData, strange: boolean): string {
  const tagList = strange
    ? Array.from({ length: 6 }, (_, index) => `${index}`)
    : [pick(draw, tags), pick(draw, tags)];
  const members = [
    `author: ${JSON.stringify(pick(draw, userIds))}`,
    `tags: ${JSON.stringify(tagList.slice(0, strange ? 6 : 1 + draw(1)))}`,
    `createdAfter: ${JSON.stringify(pick(draw, instants))}`,
    'createdBefore: "2100-01-01T00:00:00Z"',
    `updatedAfter: ${JSON.stringify(pick(draw, instants))}`,
  ];
  return `{ ${members.filter((member) => (strange ? member.startsWith('tags') : draw(2) === 0)).join(', ')} }`;
}

function argumentText(draw: Draw, name: string, data: KnownData, strange: boolean): string {
  if (SIZES.has(name)) return strange ? '101' : String(draw(4));
  if (name === 'offset') return String(draw(3));
  if (name === 'after' || name === 'before')
    return strange ? '"nonsense"' : JSON.stringify(pick(draw, data.cursors));
  if (name === 'tag') return JSON.stringify(pick(draw, data.tags));
  if (name === 'orderBy') return pick(draw, ['NEWEST', 'OLDEST', 'RECENTLY_UPDATED']);
  if (name === 'query')
    return strange ? '"a b c d e f g h i"' : pick(draw, ['"post"', '"-nowhere"', '"po*"']);
  if (name === 'filter') return filterText(draw, data, strange);
  if (name === 'length') return strange ? '0' : String(1 + draw(100));
  if (name === 'slug')
    return JSON.stringify(strange ? 'No slug' : pick(draw, [...data.postIds, 'no-such-slug']));
  if (name === 'handle') return strange ? '"no handle"' : JSON.stringify(pick(draw, data.handles));
  if (name === 'createdAfter') return JSON.stringify(pick(draw, data.instants));
  if (name === 'id')
    return strange ? '"no-uuid"' : JSON.stringify(pick(draw, [...data.userIds, ...data.postIds]));
  throw new Error(
    `"${name}" is an argument without values: teach argumentText in tests/support/schema/random-query.ts what to draw`,
  );
}

const NOBODY = '0192f0c1-0000-7000-8000-000000000000';

/** Ids of nodes of all types, some of them twice, and some that name nothing. */
function nodeIds(draw: Draw, { userIds, postIds, commentIds, draftIds }: KnownData): string[] {
  const ids = [...userIds, ...postIds, ...commentIds, ...draftIds];
  const names = [...ids, ...ids.map((id) => id.toUpperCase()), NOBODY, 'no-uuid'];
  return Array.from({ length: draw(5) }, () => pick(draw, names));
}

/** The fields that a member is rejected on other accounts. */
const REJECTED = new Set(['User.email', 'User.drafts', 'User.draftsConnection']);

/** Its only way is a resolver, and its positions are no cursors of rows. */
const WITHOUT_SQL = 'Query.tags';

/** The members of a connection that both lead to its nodes: one name may stand for two things under them. */
const NODE_FIELDS = new Set(['nodes', 'edges']);

const SIZES = new Set(['limit', 'first', 'last']);

/** Arguments that do not go together. */
const EXCLUSIVE = [
  ['limit', 'first'],
  ['limit', 'last'],
  ['first', 'last'],
  ['after', 'before'],
  ['createdAfter', 'offset'],
  ['createdAfter', 'orderBy'],
  ['createdAfter', 'filter'],
  ['tag', 'filter'],
  ['query', 'filter'],
  ['after', 'orderBy'],
  ['before', 'orderBy'],
] as const;

/** How deep the selections of an operation go. */
const DEPTH = 3;

const isConnection = (type: { readonly name: string }) => type.name.endsWith('Connection');

const isConnectionField = ({ type }: GraphQLField<unknown, unknown>) => isConnection(getNamedType(type));

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
  /** Lists are compared by themselves too: connections are most of what is read below them. */
  readonly #connections: boolean;
  readonly #definitions: string[] = [];
  readonly #variables: Record<string, unknown> = {};
  #names = 0;
  #faulty = false;

  constructor(draw: Draw, schema: GraphQLSchema, data: KnownData, skippedFields: ReadonlySet<string>) {
    this.#draw = draw;
    this.#schema = schema;
    this.#data = data;
    this.#skippedFields = skippedFields;
    this.#connections = draw(3) > 0;
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

  /** A new variable of a type, with a value unless it is absent, as it stands in the document. */
  #variable(type: string, value: unknown, standard?: string): string {
    const name = this.#name('v');
    this.#definitions.push(`$${name}: ${type}${standard === undefined ? '' : ` = ${standard}`}`);
    if (value !== undefined) this.#variables[name] = value;
    return `$${name}`;
  }

  /** The size of a list: a number, a variable, null, or a default. */
  #size(): string {
    const size = this.#draw(4);
    const form = this.#draw(7);
    if (form === 0) return this.#variable('Int', size);
    if (form === 1) return this.#variable('Int', pick(this.#draw, [null, undefined, size]), '2');
    return form === 2 ? 'null' : String(size);
  }

  /** The ids of nodes: a list, or a variable. */
  #ids(strange: boolean): string {
    const ids = strange ? Array.from({ length: 101 }, () => NOBODY) : nodeIds(this.#draw, this.#data);
    return this.#draw(1) === 0 ? this.#variable('[ID!]!', ids) : JSON.stringify(ids);
  }

  /** Whether a part is left in, or left out, by a literal or a variable; null for one is a fault. */
  #condition(): string {
    const directive = pick(this.#draw, ['skip', 'include']);
    const value = this.#draw(1) === 0;
    const form = this.#draw(3);
    if (form === 0) return ` @${directive}(if: ${value})`;
    if (form === 1) return ` @${directive}(if: ${this.#variable('Boolean', undefined, String(value))})`;
    if (this.#fault(12)) return ` @${directive}(if: ${this.#variable('Boolean', null, String(value))})`;
    return ` @${directive}(if: ${this.#variable('Boolean!', value)})`;
  }

  /** Leaves out what does not go together, but for a fault. */
  #consistent<T extends { readonly name: string }>(args: readonly T[]): readonly T[] {
    const names = new Set(args.map(({ name }) => name));
    for (const [kept, dropped] of EXCLUSIVE)
      if (names.has(kept) && names.has(dropped) && !this.#fault(3)) names.delete(dropped);
    return args.filter(({ name }) => names.has(name));
  }

  #arguments(field: GraphQLField<unknown, unknown>): string {
    const chosen = field.args.filter((argument) => isNonNullType(argument.type) || this.#draw(2) === 0);
    const given = this.#consistent(chosen);
    const list =
      field.args.some(({ name }) => name === 'limit') && !given.some(({ name }) => SIZES.has(name));
    const texts = given.map(({ name }) => {
      const strange = this.#fault(40);
      if (name === 'ids') return `ids: ${this.#ids(strange)}`;
      if (field.name === 'node') return `id: ${JSON.stringify(nodeIds(this.#draw, this.#data)[0] ?? NOBODY)}`;
      if (SIZES.has(name) && !strange) return `${name}: ${this.#size()}`;
      return `${name}: ${argumentText(this.#draw, name, this.#data, strange)}`;
    });
    if (list) texts.push(`limit: ${this.#size()}`);
    return texts.length === 0 ? '' : `(${texts.join(', ')})`;
  }

  /** With `from`, the names below go on from there: they are those of another branch then. */
  #field(field: GraphQLField<unknown, unknown>, depth: number, from?: number): string {
    const type = getNamedType(field.type);
    const alias = this.#draw(3) === 0 ? `${this.#name('a')}: ` : '';
    const condition = this.#draw(9) === 0 ? this.#condition() : '';
    const names = this.#names;
    this.#names = from ?? names;
    const below = isObjectType(type)
      ? ` ${this.selections(type, depth - 1)}`
      : isInterfaceType(type)
        ? ` ${this.#onTypes(type, depth - 1)}`
        : '';
    this.#names = Math.max(names, this.#names);
    // Without an alias two fields of one name with other arguments would not be a valid document.
    const name =
      field.args.length > 0 && alias === '' ? `${this.#name('b')}: ${field.name}` : `${alias}${field.name}`;
    return `${name}${this.#arguments(field)}${condition}${below}`;
  }

  /** A selection on an interface: its own fields, and fragments on it and on its types, some of them more than once. */
  #onTypes(type: GraphQLInterfaceType, depth: number): string {
    const parts = ['__typename', 'id', `${this.#name('a')}: id`].filter(() => this.#draw(2) === 0);
    const types = this.#schema.getPossibleTypes(type);
    for (let left = this.#draw(4); left > 0; left -= 1) {
      const on = pick(this.#draw, types);
      const form = this.#draw(5);
      const condition = this.#draw(9) === 0 ? this.#condition() : '';
      const below = this.selections(on, depth);
      const name = this.#name('F');
      if (form === 0) parts.push(`... on ${type.name}${condition} { ... on ${on.name} ${below} }`);
      else if (form === 1) {
        this.#fragments.push(`fragment ${name} on ${on.name} ${below}`);
        parts.push(`...${name}${condition}`);
      } else parts.push(`... on ${on.name}${condition} ${below}`);
    }
    return `{ ${parts.length === 0 ? '__typename' : parts.join(' ')} }`;
  }

  selections(type: GraphQLObjectType, depth: number): string {
    const fields = Object.values(type.getFields()).filter((field) => {
      const named = getNamedType(field.type);
      const coordinate = `${type.name}.${field.name}`;
      if (this.#skippedFields.has(coordinate) || coordinate === WITHOUT_SQL) return false;
      if (REJECTED.has(coordinate) && !this.#fault(8)) return false;
      if (isConnection(named) && !this.#connections) return false;
      return isLeafType(named) || depth > 0;
    });
    if (fields.length === 0) return '{ __typename }';
    const parts: string[] = [];
    const count = 1 + this.#draw(3);
    const from = this.#names;
    const branches = new Set<string>();
    const first = this.#connections && depth === DEPTH ? fields.filter(isConnectionField) : fields;
    for (let i = 0; i < count; i += 1) {
      const field = pick(this.#draw, i === 0 ? first : fields);
      const isBranch = isConnection(type) && NODE_FIELDS.has(field.name) && !branches.has(field.name);
      branches.add(field.name);
      parts.push(this.#field(field, depth, isBranch ? from : undefined));
    }
    if (this.#draw(type === this.#schema.getQueryType() ? 15 : 5) === 0) parts.push('__typename');
    if (type.getInterfaces().length > 0 && this.#draw(9) === 0) parts.push('... on Node { id }');
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

  operation(): RandomQuery {
    const query = this.#schema.getQueryType();
    if (query == null) throw new Error('the schema has no query type');
    const body = this.selections(query, DEPTH);
    const definitions = this.#definitions.length === 0 ? '' : ` (${this.#definitions.join(', ')})`;
    const text =
      this.#draw(1) === 0
        ? `query${definitions} ${body}`
        : `query${definitions} { ...Root } fragment Root on Query ${body}`;
    return { query: `${text} ${this.#fragments.join(' ')}`, variables: this.#variables };
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
    return new Writer(draw, schema, data, skippedFields).operation();
  });
}

/** What the payload of a mutation shows of a post without reading any further. */
const PAYLOAD = ['id', 'title', 'excerpt', 'body', 'commentCount', 'createdAt', '__typename'];

/** Random mutations that are one statement, now and then with an argument that is rejected. */
export function randomPosts(data: KnownData): fc.Arbitrary<RandomQuery> {
  const text = fc.constantFrom('t', 'Über "quotes"\\\n', '🐧\u2028', '\u0001');
  const member = fc.tuple(fc.constantFrom('', '__proto__: ', 'toJSON: ', 'a: '), fc.constantFrom(...PAYLOAD));
  return fc
    .record({
      root: fc.constantFrom('', '__proto__: ', 'post: '),
      title: fc.oneof(
        { weight: 9, arbitrary: text },
        { weight: 1, arbitrary: fc.constantFrom('', ' ', null) },
      ),
      tags: fc.option(fc.uniqueArray(fc.constantFrom(...data.tags))),
      // One field a name, or the document would not be valid.
      members: fc.uniqueArray(member, {
        minLength: 1,
        maxLength: 6,
        selector: ([alias, name]) => alias || name,
      }),
    })
    .map(({ root, title, tags, members }) => ({
      query: `mutation ($title: String = "default", $tags: [String!]) { ${root}createPost(title: $title, body: "b", tags: $tags) { ${members.map((parts) => parts.join('')).join(' ')} } }`,
      variables: { title, tags },
    }));
}
