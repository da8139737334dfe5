import { type Role, SCOPES, type Scope } from '../../../src/auth/scopes.ts';
import { needsOf, type WrittenField } from './fields.ts';
import { type Credential, type Problem, type Result, type State, unknown } from './state.ts';

type Outcome =
  | { readonly value: unknown; readonly shows?: 'secret' | 'email' }
  | { readonly problems: readonly Problem[] };

/** Contract section 3: `users:email` is for admins only. */
export function scopesOf(role: Role): readonly Scope[] {
  return SCOPES.filter((scope) => scope !== 'users:email' || role === 'admin');
}

const characters = (text: string) => [...text].length;

/** Contract section 1, text. */
function textProblems(
  path: readonly string[],
  { title, tags, body }: { title?: string; tags?: readonly string[] | undefined; body?: string },
): Problem[] {
  const wrong = (argument: string): Problem => ({ code: 'BAD_USER_INPUT', path, argument });
  return [
    ...(title !== undefined && (title.trim() === '' || characters(title) > 200) ? [wrong('title')] : []),
    ...(tags !== undefined && (tags.length > 10 || new Set(tags).size < tags.length || tags.includes(''))
      ? [wrong('tags')]
      : []),
    ...(body !== undefined && (characters(body) < 1 || characters(body) > 5_000) ? [wrong('body')] : []),
  ];
}

/** Does one root field to the state, or says why not: then what it did to the state does not count. */
function apply(state: State, caller: Credential, field: WrittenField, alias: string, move: number): Outcome {
  const me = state.people[caller.account];
  if (me === undefined) throw new Error('an account that is not there');
  const path = [alias];
  const refuse = (code: string, at: readonly string[] = []) => ({ code, path: [...path, ...at] });
  const isAdmin = me.role === 'admin';
  const needs = needsOf(field);
  const holds = (scopes: readonly Scope[]) => scopes.every((scope) => caller.scopes.includes(scope));
  if (!holds(needs.own) || (needs.session && caller.kind !== 'session'))
    return { problems: [refuse('FORBIDDEN')] };
  switch (field.kind) {
    case 'createPost': {
      const problems = textProblems(path, field);
      if (problems.length > 0) return { problems };
      const id = unknown(state);
      state.posts[id] = { author: caller.account, title: field.title, tags: field.tags, comments: [] };
      state.postIds.push(id);
      state.announced.push({ id, move });
      if (!holds(needs.selected)) return { problems: [refuse('FORBIDDEN', ['comments'])] };
      const { title, tags } = field;
      if (field.show === 'plain') return { value: { id, title, tags, commentCount: 0 } };
      if (field.show === 'author') return { value: { id, author: { id: me.id, email: me.email } } };
      return { value: { id, comments: [] } };
    }
    case 'updatePost': {
      const post = state.posts[field.post];
      const problems: Problem[] = [
        ...textProblems(path, field),
        ...(post === undefined ? [refuse('NOT_FOUND')] : []),
        ...(post !== undefined && post.author !== caller.account && !isAdmin ? [refuse('FORBIDDEN')] : []),
      ];
      if (post === undefined || problems.length > 0) return { problems };
      post.title = field.title;
      post.tags = field.tags ?? post.tags;
      const { title, tags, comments } = post;
      return { value: { id: field.post, title, tags, commentCount: comments.length } };
    }
    case 'deletePost': {
      const post = state.posts[field.post];
      if (post === undefined) return { value: false };
      if (post.author !== caller.account && !isAdmin) return { problems: [refuse('FORBIDDEN')] };
      delete state.posts[field.post];
      return { value: true };
    }
    case 'createComment': {
      const post = state.posts[field.post];
      const problems = [
        ...textProblems(path, { body: field.body }),
        ...(post === undefined ? [refuse('NOT_FOUND')] : []),
      ];
      if (post === undefined || problems.length > 0) return { problems };
      const id = unknown(state);
      post.comments.push({ id, author: caller.account, body: field.body });
      state.commentIds.push(id);
      if (!holds(needs.selected)) return { problems: [refuse('FORBIDDEN', ['post'])] };
      if (field.show === 'plain') return { value: { id, body: field.body, author: { id: me.id } } };
      if (field.show === 'count')
        return { value: { id, post: { id: field.post, commentCount: post.comments.length } } };
      const owns = post.author === caller.account;
      if (!owns && !caller.scopes.includes('users:email'))
        return { problems: [refuse('FORBIDDEN', ['post', 'author', 'email'])] };
      const email = state.people[post.author]?.email;
      return { value: { id, post: { author: { email } } }, ...(owns ? {} : { shows: 'email' }) };
    }
    case 'deleteComment': {
      for (const post of Object.values(state.posts)) {
        const comment = post.comments.find(({ id }) => id === field.comment);
        if (comment === undefined) continue;
        const mine = comment.author === caller.account || post.author === caller.account || isAdmin;
        if (!mine) return { problems: [refuse('FORBIDDEN')] };
        post.comments = post.comments.filter((one) => one !== comment);
        return { value: true };
      }
      return { value: false };
    }
    case 'createApiKey': {
      const scopes = field.scopes.filter((scope) => SCOPES.some((one) => one === scope)) as Scope[];
      if (!scopes.every((scope) => scopesOf(me.role).includes(scope)))
        return { problems: [refuse('FORBIDDEN')] };
      const ended = state.credentials.some(
        (one) => one.kind === 'session' && one.id === caller.id && one.endedMs !== undefined,
      );
      // An earlier field of the operation may have ended the session that it came with.
      if (ended) return { problems: [refuse('UNAUTHENTICATED')] };
      const id = unknown(state);
      const secret = field.show === 'secret' ? unknown(state, 'secret') : undefined;
      state.credentials.push({ kind: 'key', id, account: caller.account, scopes, secret });
      return secret === undefined
        ? { value: { apiKey: { id } } }
        : { value: { key: secret, apiKey: { id, name: 'made' } }, shows: 'secret' };
    }
    default: {
      const [kind, id] =
        field.kind === 'revokeApiKey' ? (['key', field.key] as const) : (['session', field.session] as const);
      const found = state.credentials.find(
        (one) => one.kind === kind && one.id === id && one.account === caller.account,
      );
      if (found === undefined || found.endedMs !== undefined) return { value: false };
      found.endedMs = state.elapsedMs;
      return { value: true };
    }
  }
}

/** What a whole mutation comes to, and whether the answer shows what not everybody may see. */
export interface Executed {
  /** Undefined where nothing was changed. */
  readonly state: State | undefined;
  readonly result: Result;
  readonly shows: readonly ('secret' | 'email')[];
}

/** Contract section 9: all of the fields, one after the other, or nothing. `state` is the caller's to throw away. */
export function execute(
  state: State,
  caller: Credential,
  fields: readonly WrittenField[],
  withLast: boolean,
  move: number,
): Executed {
  const data: Record<string, unknown> = {};
  const shows: ('secret' | 'email')[] = [];
  for (const [index, field] of fields.entries()) {
    const alias = `f${index}`;
    const outcome = apply(state, caller, field, alias, move);
    if ('problems' in outcome) return { state: undefined, result: outcome, shows: [] };
    data[alias] = outcome.value;
    if (outcome.shows !== undefined) shows.push(outcome.shows);
  }
  if (withLast) data.last = 'Mutation';
  return { state, result: { data }, shows };
}
