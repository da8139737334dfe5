import { type GraphQLInputType, isEnumType, isInputObjectType, isListType, isNonNullType } from 'graphql';
import type { Random } from '../../support/random.ts';
import { oneIn, weighted } from './draw.ts';
import { randomInstant } from './instants.ts';
import type { Known } from './known.ts';
import { randomText, stringLiteral } from './texts.ts';

/** A word that stands in a document without quotation marks, as the value of an enum does. */
export class Bare {
  readonly word: string;

  constructor(word: string) {
    this.word = word;
  }

  toJSON(): string {
    return this.word;
  }
}

const STRANGE_INTS = [-1, 100, 101, 10_000, 10_001, 2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1, 1.5, 1e21, -0, 1e2];
const STRANGE_IDS = [
  '',
  'no-uuid',
  '0',
  'NaN',
  '__proto__',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '01890000-0000-7000-8000-000000000000',
];
const SCOPES = [
  'posts:read',
  'posts:write',
  'comments:write',
  'drafts:read',
  'users:read',
  'users:email',
  'none:such',
];

function randomId(random: Random, { userIds, postIds, commentIds, draftIds, keyIds }: Known): unknown {
  if (oneIn(random, 8)) return random.pick(STRANGE_IDS);
  if (oneIn(random, 30)) return random.pick([random.below(100), 2 ** 53, 1.5, true]);
  const id = random.pick([...userIds, ...postIds, ...postIds, ...commentIds, ...draftIds, ...keyIds, 'none']);
  return oneIn(random, 10) ? id.toUpperCase() : id;
}

/** Words and phrases of texts that there are, as a whole or in part, some of which a post must not have. */
function randomQuery(random: Random, { texts }: Known): string {
  const part = () => {
    const words = random.pick(texts).replaceAll('"', '').split(' ');
    const at = random.below(words.length);
    const phrase = words.slice(at, at + 1 + random.below(3)).join(' ');
    const wanted = random.pick([phrase, `"${phrase}"`, `${phrase.slice(0, 1 + random.below(6))}*`]);
    return oneIn(random, 4) ? `-${wanted}` : wanted;
  };
  return Array.from({ length: 1 + random.below(random.pick([1, 2, 2, 10])) }, part).join(' ');
}

function randomCursor(random: Random, cursors: readonly string[]): string {
  const cursor = random.pick([...cursors, 'none']);
  return weighted(random, [
    [12, cursor],
    [1, cursor.slice(0, -1)],
    [1, `${cursor}=`],
    [1, randomText(random)],
  ]);
}

function randomString(random: Random, known: Known, name: string): string {
  const { cursors, tagCursors, tags, slugs, handles } = known;
  if (name === 'after' || name === 'before')
    return randomCursor(random, oneIn(random, 20) ? tagCursors : cursors);
  if (name === 'after tag') return randomCursor(random, oneIn(random, 12) ? cursors : tagCursors);
  if (name === 'query') return oneIn(random, 5) ? randomText(random) : randomQuery(random, known);
  if (name === 'prefix')
    return oneIn(random, 6)
      ? randomText(random)
      : [...random.pick(tags)].slice(0, 1 + random.below(2)).join('');
  if (name.startsWith('tag')) return oneIn(random, 4) ? randomText(random) : random.pick([...tags, 'none']);
  if (name === 'slug') return oneIn(random, 4) ? randomText(random) : random.pick(slugs);
  if (name === 'handle' && !oneIn(random, 4)) {
    const handle = random.pick(handles);
    return oneIn(random, 4) ? handle.toUpperCase() : handle;
  }
  if (name === 'avatarUrl' && !oneIn(random, 3))
    return random.pick(['https://example.com/a', 'http://x', '']);
  if (name === 'scopes') return random.pick(SCOPES);
  if (name === 'name' && oneIn(random, 2)) return random.pick(['Post', 'Query', '__Type', 'Int', 'DateTime']);
  return randomText(random);
}

function randomScalar(random: Random, type: string, name: string, known: Known): unknown {
  if (type === 'Boolean') return oneIn(random, 2);
  if (type === 'Int') return oneIn(random, 14) ? random.pick(STRANGE_INTS) : random.below(5);
  if (type === 'Float') return random.pick([0, 1.5, -2.25, 1e300]);
  if (type === 'ID') return randomId(random, known);
  if (type === 'DateTime') return randomInstant(random, known);
  if (type === 'String') return randomString(random, known, name);
  throw new Error(`the scalar ${type} has no values: teach randomScalar in generate/values.ts what to draw`);
}

/** A value of a type, as JSON has it. Null only inside, where it may be: what is absent is the caller's to say. */
export function randomValue(random: Random, type: GraphQLInputType, name: string, known: Known): unknown {
  if (isNonNullType(type)) return randomValue(random, type.ofType, name, known);
  if (isListType(type)) {
    const { ofType } = type;
    // One value stands for a list of it.
    if (oneIn(random, 12)) return randomValue(random, ofType, name, known);
    const most = name === 'ids' ? [99, 100, 101] : [10, 11];
    const length = oneIn(random, 30) ? random.pick(most) : random.below(4);
    // Tags must differ.
    const item = (at: number) =>
      length > 9 && name !== 'ids' ? `${name}${at}` : randomValue(random, ofType, name, known);
    return Array.from({ length }, (_, at) => item(at));
  }
  if (isEnumType(type)) return new Bare(random.pick(type.getValues()).name);
  if (isInputObjectType(type)) {
    const all = Object.values(type.getFields());
    // A search takes no other conditions.
    const fields = oneIn(random, 3) ? all.filter(({ name: of }) => of === 'author' || of === 'tags') : all;
    const given = fields.filter((field) => isNonNullType(field.type) || oneIn(random, 2));
    return Object.fromEntries(
      given.map((field) => [field.name, randomValue(random, field.type, field.name, known)]),
    );
  }
  return randomScalar(random, type.name, name, known);
}

/** What fits no type, or hardly one. */
export function strangeValue(random: Random): unknown {
  const nested = (depth: number): unknown => {
    if (depth === 0) return random.pick<unknown>([1, 'x', null, true]);
    return oneIn(random, 2)
      ? [nested(depth - 1)]
      : { [random.pick(['a', '__proto__', 'id'])]: nested(depth - 1) };
  };
  return random.pick<() => unknown>([
    () => nested(1 + random.below(3)),
    () => nested(20),
    () => random.pick(STRANGE_INTS),
    () => '',
    () => oneIn(random, 2),
    () => new Bare(random.pick(['POSTS', 'constructor', 'x'])),
    () => [],
    () => ({}),
    () => randomText(random),
  ])();
}

/** A value as it stands in a document. */
export function valueLiteral(random: Random, value: unknown): string {
  if (value instanceof Bare) return value.word;
  if (typeof value === 'string') return stringLiteral(random, value);
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => valueLiteral(random, item));
    return `[${items.join(random.pick([', ', ' ', ',']))}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${name}: ${valueLiteral(random, member)}`);
    return `{${members.join(', ')}}`;
  }
  return Object.is(value, -0) ? '-0' : String(value).replace('e+', 'e');
}
