import type { Content, Written } from './writers.ts';

export type ChangeKind = `${'POST' | 'COMMENT'}_${'CREATED' | 'UPDATED' | 'DELETED'}`;

/** What a stream of `changes` names. */
export interface Change {
  readonly kind: ChangeKind;
  readonly postId: string;
  readonly commentId: string | null;
}

export interface PostState extends Content {
  readonly title: string;
  readonly version: number;
  readonly comments: readonly { readonly id: string; readonly body: string }[];
}

/** A post with all that has become of it, in order; null once it is deleted. */
export interface KnownPost {
  readonly id: string;
  readonly account: { readonly id: string; readonly name: string };
  readonly title: string;
  readonly history: (PostState | null)[];
}

/** A change that is acknowledged, which is one event. */
export interface Told extends Change, Written {
  /** What to call it: the title for a new post. */
  readonly name: string;
  readonly post: KnownPost;
  /** What the event may show: the post as the change has left it, and as it was later. */
  states(): readonly (PostState | null)[];
}

/** Identifies a change: each post and each comment is changed in each way at most once. */
export const keyOf = ({ kind, postId, commentId }: Change): string => `${kind} ${commentId ?? postId}`;

/** All changes that are acknowledged. */
export class Ledger {
  /** By their names. */
  readonly told = new Map<string, Told>();
  readonly #byKey = new Map<string, Told>();

  /** Notes what a change has made of a post. */
  note(
    post: KnownPost,
    kind: ChangeKind,
    commentId: string | null,
    when: Written,
    state: PostState | null,
  ): Told {
    const place = post.history.push(state) - 1;
    return this.#add(post, kind, commentId, when, () => post.history.slice(place));
  }

  /** Notes a comment that stays as it is, on a post on which others comment at the same time. */
  noteComment(post: KnownPost, comment: PostState['comments'][number], when: Written): Told {
    const [state] = post.history;
    if (state == null) throw new Error('a post on which all comment is there');
    const states = [{ ...state, comments: [comment] }];
    return this.#add(post, 'COMMENT_CREATED', comment.id, when, () => states, `: ${comment.body}`);
  }

  /** The change that a stream has told of, by its name or what identifies it. */
  find(item: string): Told | undefined {
    return this.told.get(item) ?? this.#byKey.get(item);
  }

  #add(
    post: KnownPost,
    kind: ChangeKind,
    commentId: string | null,
    { asked, acknowledged }: Written,
    states: Told['states'],
    detail = '',
  ): Told {
    const name = kind === 'POST_CREATED' ? post.title : `${kind} of ${post.title}${detail}`;
    const told = { name, kind, postId: post.id, commentId, post, asked, acknowledged, states };
    this.told.set(name, told);
    this.#byKey.set(keyOf(told), told);
    return told;
  }
}
