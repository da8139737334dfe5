import type { Scope } from '../../../src/auth/scopes.ts';
import type { Field } from './moves.ts';
import { named, type State } from './state.ts';

type Written<T> = T extends { readonly kind: 'updatePost' | 'deletePost' | 'createComment' }
  ? Omit<T, 'post'> & { readonly post: string }
  : T extends { readonly kind: 'deleteComment' }
    ? Omit<T, 'comment'> & { readonly comment: string }
    : T extends { readonly kind: 'revokeApiKey' }
      ? Omit<T, 'key'> & { readonly key: string }
      : T extends { readonly kind: 'revokeSession' }
        ? Omit<T, 'session'> & { readonly session: string }
        : T;

/** A root field with the ids that its references name. */
export type WrittenField = Written<Field>;

export function write(field: Field, state: State): WrittenField {
  const ids = (kind: 'key' | 'session') =>
    state.credentials.filter((one) => one.kind === kind).map(({ id }) => id);
  switch (field.kind) {
    case 'updatePost':
    case 'deletePost':
    case 'createComment':
      return { ...field, post: named(state.postIds, field.post) };
    case 'deleteComment':
      return { ...field, comment: named(state.commentIds, field.comment) };
    case 'revokeApiKey':
      return { ...field, key: named(ids('key'), field.key) };
    case 'revokeSession':
      return { ...field, session: named(ids('session'), field.session) };
    default:
      return field;
  }
}

const POST = '{ id title tags commentCount }';
const SHOWN = {
  createPost: { plain: POST, author: '{ id author { id email } }', comments: '{ id comments { id } }' },
  createComment: {
    plain: '{ id body author { id } }',
    count: '{ id post { id commentCount } }',
    email: '{ id post { author { email } } }',
  },
  createApiKey: { secret: '{ key apiKey { id name } }', plain: '{ apiKey { id } }' },
} as const;

export function textOf(field: WrittenField): string {
  const json = JSON.stringify;
  switch (field.kind) {
    case 'createPost':
      return `createPost(title: ${json(field.title)}, body: "b", tags: ${json(field.tags)}) ${SHOWN.createPost[field.show]}`;
    case 'updatePost': {
      const tags = field.tags === undefined ? '' : `, tags: ${json(field.tags)}`;
      return `updatePost(id: "${field.post}", title: ${json(field.title)}${tags}) ${POST}`;
    }
    case 'deletePost':
      return `deletePost(id: "${field.post}")`;
    case 'createComment':
      return `createComment(postId: "${field.post}", body: ${json(field.body)}) ${SHOWN.createComment[field.show]}`;
    case 'deleteComment':
      return `deleteComment(id: "${field.comment}")`;
    case 'createApiKey':
      return `createApiKey(name: "made", scopes: ${json(field.scopes)}) ${SHOWN.createApiKey[field.show]}`;
    case 'revokeApiKey':
      return `revokeApiKey(id: "${field.key}")`;
    case 'revokeSession':
      return `revokeSession(id: "${field.session}")`;
  }
}

/** What the contract's table asks of who executes it: scopes of the field itself, of what it selects, or a session. */
export function needsOf(field: WrittenField): {
  readonly own: readonly Scope[];
  readonly selected: readonly Scope[];
  readonly session: boolean;
} {
  switch (field.kind) {
    case 'createPost':
      return {
        own: ['posts:write'],
        selected: field.show === 'comments' ? ['posts:read'] : [],
        session: false,
      };
    case 'updatePost':
    case 'deletePost':
      return { own: ['posts:write'], selected: [], session: false };
    case 'createComment':
      return {
        own: ['comments:write'],
        selected: field.show === 'plain' ? [] : ['posts:read'],
        session: false,
      };
    case 'deleteComment':
      return { own: ['comments:write'], selected: [], session: false };
    default:
      return { own: [], selected: [], session: true };
  }
}
