import { type ChangeKind, keyOf, type PostState, type Told } from './ledger.ts';
import type { WritingAccount } from './lives.ts';
import { executed, type Selection, SHARED_NEW_POSTS, TITLES } from './selections.ts';

interface Filter {
  readonly post?: string;
  readonly author?: string;
  readonly kinds?: readonly ChangeKind[];
}

interface Shape {
  readonly name: string;
  readonly filter?: Filter;
  /** What it selects beside what identifies the change, and what that must be. */
  readonly fields?: string;
  readonly shown?: (event: Told, state: PostState | null) => Readonly<Record<string, unknown>>;
}

const OF_POSTS: readonly ChangeKind[] = ['POST_CREATED', 'POST_UPDATED', 'POST_DELETED'];
const OF_COMMENTS: readonly ChangeKind[] = ['COMMENT_CREATED', 'COMMENT_UPDATED', 'COMMENT_DELETED'];

const changes = ({ name, filter = {}, fields = '', shown = () => ({}) }: Shape): Selection => ({
  name,
  query: `subscription ($post: ID, $author: ID, $kinds: [ChangeKind!]) {
    changes(post: $post, author: $author, kinds: $kinds) { kind postId commentId ${fields} } }`,
  variables: { ...filter },
  due({ kind, postId, post }) {
    const { post: onPost = postId, author = post.account.id, kinds = [kind] } = filter;
    return onPost === postId && author === post.account.id && kinds.includes(kind) ? 'always' : 'never';
  },
  itemOf: keyOf,
  itemIn: (data) => (data.changes === undefined ? undefined : keyOf(data.changes)),
  expected(event, state) {
    const { kind, postId, commentId } = event;
    return { changes: { kind, postId, commentId, ...shown(event, state) } };
  },
});

const commentIn = ({ commentId }: Told, state: PostState | null) =>
  state?.comments.find(({ id }) => id === commentId);

const bodyIn = (event: Told, state: PostState | null) => {
  const comment = commentIn(event, state);
  return { comment: comment === undefined ? null : { body: comment.body } };
};

/** Executed events read post and comment one after the other: this one shows the comment alone. */
const COMMENTS = { fields: 'comment { body }', shown: bodyIn };

export interface Selections {
  /** One statement writes these for all events that are read at once, and for all accounts. */
  readonly shared: readonly (readonly Selection[])[];
  /** Few have these: each event is executed for each account. */
  readonly executed: readonly Selection[];
}

/** The subscriptions of a crowd, in groups of which each has as many subscribers: to new posts, and to changes that are filtered in each way. */
export function selectionsFor(accounts: readonly WritingAccount[]): Selections {
  const filtered = accounts.flatMap(({ id, name, pinned }) => [
    changes({
      name: `changes of the posts of ${name}`,
      filter: { author: id },
      fields: 'post { title tags } comment { body }',
      shown: (event, state) => ({
        post: state === null ? null : { title: state.title, tags: state.tags },
        ...bodyIn(event, state),
      }),
    }),
    changes({
      name: `changes of comments on the posts of ${name}`,
      filter: { author: id, kinds: OF_COMMENTS },
      ...COMMENTS,
    }),
    changes({ name: `changes of a post of ${name}`, filter: { post: pinned.id }, ...COMMENTS }),
  ]);
  const every = changes({ name: 'all changes', ...COMMENTS });
  const whole = changes({
    name: 'changes of posts',
    filter: { kinds: OF_POSTS },
    fields: 'post { title body tags version by: author { name } }',
    shown: ({ post: { account } }, state) => {
      if (state === null) return { post: null };
      const { title, body, tags, version } = state;
      return { post: { title, body, tags, version, by: { name: account.name } } };
    },
  });
  return {
    shared: [SHARED_NEW_POSTS, [every, changes({ name: 'kinds and ids of changes' }), whole], filtered],
    executed: [executed(TITLES), executed(every)],
  };
}
