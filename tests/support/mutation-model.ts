import fc from 'fast-check';
import type { Scope } from '../../src/auth/scopes.ts';
import { newId } from '../../src/platform/uuid.ts';

/** A post with all that hangs on it. Comments are named by their texts, which are distinct. */
export interface ModelPost {
  readonly title: string;
  readonly mine: boolean;
  readonly tags: readonly string[];
  readonly comments: readonly { readonly body: string; readonly mine: boolean }[];
}

/** What there is, by title at the start. Events outlive their posts. */
export interface ModelState {
  readonly posts: ReadonlyMap<string, ModelPost>;
  readonly events: number;
}

/** The ids of what is there at the start, by title and by text. */
export type Ids = Readonly<Record<string, string>>;

/** A root field: what it says, what it asks of the caller, and what it does. */
export interface MutationField {
  readonly text: (ids: Ids, alias: string) => string;
  readonly scopes: readonly Scope[];
  /** The state after it; undefined where it fails. */
  readonly apply: (state: ModelState, alias: string) => ModelState | undefined;
  /** How it stands in the operation. */
  readonly stands: 'plain' | 'in a fragment' | 'skipped' | 'included';
}

export const START: ModelState = {
  posts: new Map([
    ['mine', { title: 'mine', mine: true, tags: ['a', 'b'], comments: [{ body: 'on mine', mine: false }] }],
    [
      'theirs',
      {
        title: 'theirs',
        mine: false,
        tags: [],
        comments: [
          { body: 'my own', mine: true },
          { body: 'not mine', mine: false },
        ],
      },
    ],
  ]),
  events: 0,
};

type Target = 'mine' | 'theirs' | 'unknown';
const UNKNOWN = newId();
function idOf(ids: Ids, name: string): string {
  const id = name === 'unknown' ? UNKNOWN : ids[name];
  if (id === undefined)
    throw new Error(`"${name}" has no id: seed it with what is in START of mutation-model.ts`);
  return JSON.stringify(id);
}

function withPost(state: ModelState, name: string, post: ModelPost | undefined): ModelState {
  const posts = new Map(state.posts);
  if (post === undefined) posts.delete(name);
  else posts.set(name, post);
  return { ...state, posts };
}

const target = fc.constantFrom<Target>('mine', 'mine', 'theirs', 'unknown');
/** Texts for the argument that they are, with whether they are taken. */
const title = fc.constantFrom(
  ['new', true],
  ['', false],
  [' ', false],
  ['x'.repeat(201), false],
) as fc.Arbitrary<[string, boolean]>;
const tags = fc.constantFrom([[], true], [['c', 'a'], true], [['c', 'c'], false]) as fc.Arbitrary<
  [string[], boolean]
>;
const weighted = <T>(good: fc.Arbitrary<T>, any: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: good }, { weight: 1, arbitrary: any });
const goodTitle = fc.constant<[string, boolean]>(['new', true]);
const goodTags = fc.constant<[string[], boolean]>([['c'], true]);

type Bare = Omit<MutationField, 'stands'>;

const createPost: fc.Arbitrary<Bare> = fc
  .tuple(
    weighted(goodTitle, title),
    weighted(goodTags, tags),
    fc.constantFrom(
      { selection: '{ id title }' },
      { selection: '{ id author { email } }' },
      { selection: '{ id author { posts(limit: 1) { id } } }', scopes: ['posts:read'] as const },
      {
        selection: '{ id author { posts(limit: 101) { id } } }',
        scopes: ['posts:read'] as const,
        fails: true,
      },
    ),
  )
  .map(([[given, titleGood], [names, tagsGood], { selection, scopes = [], fails = false }]) => ({
    text: (_ids, alias) =>
      `createPost(title: ${JSON.stringify(given === 'new' ? alias : given)}, body: "b", tags: ${JSON.stringify(names)}) ${selection}`,
    scopes: ['posts:write', ...scopes],
    apply: (state, alias) =>
      titleGood && tagsGood && !fails
        ? withPost({ ...state, events: state.events + 1 }, alias, {
            title: alias,
            mine: true,
            tags: names,
            comments: [],
          })
        : undefined,
  }));

const updatePost: fc.Arbitrary<Bare> = fc
  .tuple(target, weighted(goodTitle, title), fc.option(weighted(goodTags, tags), { nil: undefined }))
  .map(([name, [given, titleGood], tagged]) => ({
    text: (ids, alias) => {
      const written = tagged === undefined ? '' : `, tags: ${JSON.stringify(tagged[0])}`;
      return `updatePost(id: ${idOf(ids, name)}, title: ${JSON.stringify(given === 'new' ? alias : given)}${written}) { id }`;
    },
    scopes: ['posts:write'],
    apply: (state, alias) => {
      const post = state.posts.get(name);
      if (post === undefined || !post.mine || !titleGood || tagged?.[1] === false) return undefined;
      return withPost(state, name, { ...post, title: alias, tags: tagged?.[0] ?? post.tags });
    },
  }));

const deletePost: fc.Arbitrary<Bare> = target.map((name) => ({
  text: (ids) => `deletePost(id: ${idOf(ids, name)})`,
  scopes: ['posts:write'],
  apply: (state) => {
    const post = state.posts.get(name);
    if (post === undefined) return state;
    return post.mine ? withPost(state, name, undefined) : undefined;
  },
}));

const createComment: fc.Arbitrary<Bare> = fc
  .tuple(
    target,
    weighted(fc.constant('new'), fc.constantFrom('', 'x'.repeat(5_001))),
    fc.constantFrom('{ id }', '{ id }', '{ post { commentCount } }', '{ post { author { email } } }'),
  )
  .map(([name, body, selection]) => ({
    text: (ids, alias) =>
      `createComment(postId: ${idOf(ids, name)}, body: ${JSON.stringify(body === 'new' ? alias : body)}) ${selection}`,
    scopes: selection.includes('post') ? ['comments:write', 'posts:read'] : ['comments:write'],
    apply: (state, alias) => {
      const post = state.posts.get(name);
      if (post === undefined || body !== 'new') return undefined;
      // The e-mail of another account.
      if (selection.includes('email') && !post.mine) return undefined;
      return withPost(state, name, { ...post, comments: [...post.comments, { body: alias, mine: true }] });
    },
  }));

const deleteComment: fc.Arbitrary<Bare> = fc
  .constantFrom('on mine', 'my own', 'not mine', 'unknown')
  .map((body) => ({
    text: (ids) => `deleteComment(id: ${idOf(ids, body)})`,
    scopes: ['comments:write'],
    apply: (state) => {
      for (const [name, post] of state.posts) {
        const comment = post.comments.find((one) => one.body === body);
        if (comment === undefined) continue;
        if (!comment.mine && !post.mine) return undefined;
        return withPost(state, name, {
          ...post,
          comments: post.comments.filter((one) => one !== comment),
        });
      }
      return state;
    },
  }));

const bare = fc.oneof(createPost, updatePost, deletePost, createComment, deleteComment);
const stands = fc.constantFrom<MutationField['stands']>(
  'plain',
  'plain',
  'in a fragment',
  'skipped',
  'included',
);

/** Operations of one to five root fields, most of which are right. */
export const mutationFields: fc.Arbitrary<MutationField[]> = fc.array(
  fc.tuple(bare, stands).map(([field, standing]) => ({ ...field, stands: standing })),
  { minLength: 1, maxLength: 5 },
);

/** The document, with the variable `$no` that is false. */
export function documentOf(fields: readonly MutationField[], ids: Ids): string {
  const fragments: string[] = [];
  const selections = fields.map((field, index) => {
    const written = `f${index}: ${field.text(ids, `f${index}`)}`;
    if (field.stands === 'in a fragment') {
      fragments.push(`fragment F${index} on Mutation { ${written} }`);
      return `...F${index}`;
    }
    if (field.stands === 'skipped') return `... on Mutation @include(if: $no) { ${written} }`;
    return field.stands === 'included' ? `... @skip(if: $no) { ${written} }` : written;
  });
  return `mutation ($no: Boolean! = false) { ${selections.join(' ')} last: __typename @include(if: $no) } ${fragments.join(' ')}`;
}

/** Whether all that the operation asks for is within the scopes. */
export function holdsScopes(fields: readonly MutationField[], held: readonly Scope[]): boolean {
  return fields.every(
    ({ stands: standing, scopes }) => standing === 'skipped' || scopes.every((scope) => held.includes(scope)),
  );
}

/** The state after all of them; undefined where one fails, be it by a scope that is not held. */
export function outcomeOf(fields: readonly MutationField[], held: readonly Scope[]): ModelState | undefined {
  let state: ModelState | undefined = START;
  for (const [index, field] of fields.entries()) {
    if (field.stands === 'skipped') continue;
    if (!field.scopes.every((scope) => held.includes(scope))) return undefined;
    state = field.apply(state, `f${index}`);
    if (state === undefined) return undefined;
  }
  return state;
}
