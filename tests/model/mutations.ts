import fc from 'fast-check';

/** A reference that names nothing. */
export const NOTHING = 11;

/** Numbers name what there is or was, 0 the newest. */
export type Reference = number;

/** A root field of a mutation before it is known what there is. */
export type Field =
  | {
      readonly kind: 'createPost';
      readonly title: string;
      readonly tags: readonly string[];
      readonly show: 'plain' | 'author' | 'comments' | 'page' | 'long page';
    }
  | {
      readonly kind: 'updatePost';
      readonly post: Reference;
      readonly title: string;
      readonly tags: readonly string[] | undefined;
      readonly slug: string | undefined;
      readonly ifVersion: number | undefined;
    }
  | { readonly kind: 'deletePost'; readonly post: Reference; readonly ifVersion: number | undefined }
  | {
      readonly kind: 'createComment';
      readonly post: Reference;
      readonly body: string;
      readonly show: 'plain' | 'count' | 'email';
    }
  | {
      readonly kind: 'updateComment';
      readonly comment: Reference;
      readonly body: string;
      readonly ifVersion: number | undefined;
    }
  | { readonly kind: 'deleteComment'; readonly comment: Reference; readonly ifVersion: number | undefined }
  | { readonly kind: 'createDraft'; readonly title: string; readonly tags: readonly string[] | undefined }
  | {
      readonly kind: 'updateDraft';
      readonly draft: Reference;
      readonly title: string | undefined;
      readonly slug: string | undefined;
      readonly ifVersion: number | undefined;
    }
  | {
      readonly kind: 'deleteDraft' | 'publishDraft';
      readonly draft: Reference;
      readonly ifVersion: number | undefined;
    }
  | ({ readonly kind: 'updateViewer' } & Partial<Record<keyof typeof PROFILE, string | undefined>>)
  | {
      readonly kind: 'createApiKey';
      readonly scopes: readonly string[];
      readonly password: keyof typeof PASSWORDS;
      readonly show: 'secret' | 'plain';
    }
  | { readonly kind: 'revokeApiKey'; readonly key: Reference }
  | { readonly kind: 'revokeSession'; readonly session: Reference };

/** An id that names nothing. */
const NOBODY = '00000000-0000-7000-8000-000000000000';

/** What there is or was, the oldest first. */
export interface Known {
  readonly posts: readonly string[];
  readonly comments: readonly string[];
  readonly drafts: readonly string[];
  readonly keys: readonly string[];
  readonly sessions: readonly string[];
  /** The password of each account. */
  readonly password: string;
  /** A handle that no account outside has. */
  readonly handle: string;
}

/** The one of the ids that is meant. */
export function named(ids: readonly string[], reference: Reference): string {
  if (reference === NOTHING) return NOBODY;
  return ids[ids.length - 1 - (reference % ids.length)] ?? NOBODY;
}

const POST = '{ id title slug excerpt(length: 3) tags commentCount version }';

const DRAFT = '{ id title tags slug version }';

const versionText = ({ ifVersion }: { readonly ifVersion: number | undefined }) =>
  ifVersion === undefined ? '' : `, ifVersion: ${ifVersion}`;
const SHOWN = {
  createPost: {
    plain: POST,
    author: '{ id author { id email } }',
    comments: '{ id comments { id } }',
    page: '{ id author { posts(limit: 0) { id } } }',
    'long page': '{ id author { posts(limit: 101) { id } } }',
  },
  createComment: {
    plain: '{ id body author { id } }',
    count: '{ id post { id commentCount } }',
    email: '{ id post { author { email } } }',
  },
  createApiKey: { secret: '{ key apiKey { id name } }', plain: '{ apiKey { id } }' },
} as const;

/** The argument with the current password, after other arguments. */
const PASSWORDS = {
  right: ({ password }: Known) => `, currentPassword: ${JSON.stringify(password)}`,
  wrong: () => ', currentPassword: "not the password"',
  absent: () => '',
} as const;

/** Values of the arguments of `updateViewer`. `$handle` stands for the handle of what is known. */
const PROFILE = {
  name: ['N', 'N', '', 'n'.repeat(101)],
  handle: ['$handle', '$handle', '', '12345', 'Not_lower'],
  bio: ['About', '', 'b'.repeat(501)],
  avatarUrl: ['https://example.com/a.png', '', 'http://example.com/a.png'],
} as const;

function profileText(field: Extract<Field, { kind: 'updateViewer' }>, { handle }: Known): string {
  const names = ['name', 'handle', 'bio', 'avatarUrl'] as const;
  const given = names.flatMap((name) =>
    field[name] === undefined
      ? []
      : `${name}: ${JSON.stringify(field[name] === '$handle' ? handle : field[name])}`,
  );
  return given.length === 0 ? '' : `(${given.join(', ')})`;
}

/** A root field as it stands in a document, with the ids that its references name. */
export function textOf(field: Field, known: Known): string {
  const json = JSON.stringify;
  switch (field.kind) {
    case 'createPost':
      return `createPost(title: ${json(field.title)}, body: "b", tags: ${json(field.tags)}) ${SHOWN.createPost[field.show]}`;
    case 'updatePost': {
      const tags = field.tags === undefined ? '' : `, tags: ${json(field.tags)}`;
      const id = named(known.posts, field.post);
      // No other post is given this slug.
      const slug = field.slug === undefined ? '' : `, slug: "${id}-${field.slug}"`;
      return `updatePost(id: ${json(id)}, title: ${json(field.title)}${tags}${slug}${versionText(field)}) ${POST}`;
    }
    case 'deletePost':
      return `deletePost(id: ${json(named(known.posts, field.post))}${versionText(field)})`;
    case 'createComment':
      return `createComment(postId: ${json(named(known.posts, field.post))}, body: ${json(field.body)}) ${SHOWN.createComment[field.show]}`;
    case 'deleteComment':
      return `deleteComment(id: ${json(named(known.comments, field.comment))}${versionText(field)})`;
    case 'updateComment':
      return `updateComment(id: ${json(named(known.comments, field.comment))}, body: ${json(field.body)}${versionText(field)}) { id body version post { id } }`;
    case 'createDraft': {
      const tags = field.tags === undefined ? '' : `, tags: ${json(field.tags)}`;
      return `createDraft(title: ${json(field.title)}, body: "b"${tags}) ${DRAFT}`;
    }
    case 'updateDraft': {
      const id = named(known.drafts, field.draft);
      const title = field.title === undefined ? '' : `, title: ${json(field.title)}`;
      // No post has this slug before the draft is published.
      const slug =
        field.slug === undefined ? '' : `, slug: ${json(field.slug === '' ? '' : `${id}-${field.slug}`)}`;
      return `updateDraft(id: ${json(id)}${title}${slug}${versionText(field)}) ${DRAFT}`;
    }
    case 'deleteDraft':
      return `deleteDraft(id: ${json(named(known.drafts, field.draft))}${versionText(field)})`;
    case 'publishDraft':
      return `publishDraft(id: ${json(named(known.drafts, field.draft))}${versionText(field)}) ${POST}`;
    case 'updateViewer':
      return `updateViewer${profileText(field, known)} { id name handle bio avatarUrl role }`;
    case 'createApiKey':
      return `createApiKey(name: "made", scopes: ${json(field.scopes)}${PASSWORDS[field.password](known)}) ${SHOWN.createApiKey[field.show]}`;
    case 'revokeApiKey':
      return `revokeApiKey(id: ${json(named(known.keys, field.key))})`;
    case 'revokeSession':
      return `revokeSession(id: ${json(named(known.sessions, field.session))})`;
  }
}

export const reference = fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 2 }) }, fc.nat({ max: NOTHING }));
/** One value six times out of seven. */
export const mostly = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, fc.constantFrom(...others));
/** Mostly none; few rows are changed more than twice. */
const ifVersion = fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, fc.constantFrom(1, 2, 3));
const title = mostly('T', 'é😀', '', ' ', 'x'.repeat(201));
const tags = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<readonly string[]>(['a'], ['b', 'a'], ['a', 'b']) },
  fc.constantFrom<readonly string[]>([], ['a', 'a'], ['']),
);
export const scopes = fc.constantFrom<readonly string[]>(
  ['posts:read', 'posts:write', 'comments:write', 'users:read'],
  ['drafts:read', 'drafts:write', 'posts:write'],
  ['posts:read'],
  ['posts:write'],
  ['posts:read', 'users:email'],
);

/** What changes posts, comments and drafts. */
export const contentField: fc.Arbitrary<Field> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('createDraft' as const),
      title: mostly('T', '', 'x'.repeat(201)),
      tags: fc.option(tags, { nil: undefined }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('updateDraft' as const),
      draft: reference,
      title: fc.option(mostly('U', 'T', ''), { nil: undefined }),
      slug: fc.option(mostly('a', '', '-'), { nil: undefined }),
      ifVersion,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('publishDraft' as const, 'publishDraft' as const, 'deleteDraft' as const),
      draft: reference,
      ifVersion,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('createPost' as const),
      title,
      tags,
      show: fc.oneof(
        { weight: 9, arbitrary: fc.constantFrom('plain', 'author', 'comments') },
        fc.constantFrom('page', 'long page'),
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('updatePost' as const),
      post: reference,
      title,
      tags: fc.option(tags, { nil: undefined }),
      slug: fc.option(mostly('a', 'b', '-'), { nil: undefined }),
      ifVersion,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('deletePost' as const), post: reference, ifVersion }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('createComment' as const),
      post: reference,
      body: mostly('B', '', 'y'.repeat(5_001)),
      show: fc.constantFrom('plain', 'count', 'email'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('updateComment' as const),
      comment: reference,
      body: mostly('B', 'C', '', 'y'.repeat(5_001)),
      ifVersion,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('deleteComment' as const), comment: reference, ifVersion }),
  },
);

const profileValue = (name: keyof typeof PROFILE) =>
  fc.option(fc.constantFrom(...PROFILE[name]), { freq: 2, nil: undefined });

/** Any of those that are known here. */
export const field: fc.Arbitrary<Field> = fc.oneof(
  { weight: 16, arbitrary: contentField },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('createApiKey' as const),
      scopes,
      password: mostly<'right' | 'wrong' | 'absent'>('right', 'wrong', 'absent'),
      show: fc.constantFrom('secret', 'plain'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('revokeApiKey' as const), key: reference }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('revokeSession' as const), session: reference }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('updateViewer' as const),
      name: profileValue('name'),
      handle: profileValue('handle'),
      bio: profileValue('bio'),
      avatarUrl: profileValue('avatarUrl'),
    }),
  },
);
