import type { KnownPost, Ledger, PostState, Told } from './ledger.ts';
import { contentOf } from './selections.ts';
import { fieldOf, type NewPost, type Sender, titleOf } from './writers.ts';

/** An account that writes, and a post of its own on which it comments again and again. */
export interface WritingAccount {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly pinned: KnownPost;
}

/** What becomes of a post after it was created, by its number. */
const LIVES = ['left alone', 'comment edited', 'edited', 'deleted', 'comment deleted'] as const;

const COMMENTED: readonly Life[] = ['comment edited', 'deleted', 'comment deleted'];

type Life = (typeof LIVES)[number];

interface Living {
  readonly post: KnownPost;
  readonly number: number;
  readonly life: Life;
}

const lifeOf = (number: number): Life => LIVES[number % LIVES.length] ?? 'left alone';

const firstState = (number: number): PostState => ({
  title: titleOf(number),
  ...contentOf(number),
  version: 1,
  comments: [],
});

/** Notes a post that was created. */
export function noteCreated(ledger: Ledger, account: WritingAccount, { number, id, ...when }: NewPost): Told {
  const post: KnownPost = { id, account, title: titleOf(number), history: [] };
  return ledger.note(post, 'POST_CREATED', null, when, firstState(number));
}

/** The field that comments on the pinned post of an account. */
const noteOn = ({ pinned }: WritingAccount, body: string) =>
  fieldOf('note', 'createComment', { postId: pinned.id, body });

/** Has an account comment on its pinned post, in a mutation of its own. */
export async function comment(
  ledger: Ledger,
  account: WritingAccount,
  body: string,
  sender: Sender,
): Promise<Told> {
  const { ids, ...when } = await sender.send([noteOn(account, body)]);
  return ledger.noteComment(account.pinned, { id: ids.note ?? '', body }, when);
}

const bodyOf = (number: number) => `“first” on ${number}`;
const editedBodyOf = (number: number) => `edited \\ on ${number}`;

/** Goes on with new posts: edits and comments in one mutation, what becomes of the comments and deletions in another. */
export async function liveOn(
  ledger: Ledger,
  account: WritingAccount,
  created: readonly NewPost[],
  sender: Sender,
): Promise<void> {
  const all = created.map(
    (one): Living => ({
      number: one.number,
      life: lifeOf(one.number),
      post: noteCreated(ledger, account, one).post,
    }),
  );
  const comments = await addComments(ledger, account, all, sender);
  const fields = all.flatMap(({ post: { id }, number, life }) => {
    const commentId = comments.get(number);
    if (life === 'deleted') return [fieldOf(`p${number}`, 'deletePost', { id }, '')];
    if (life === 'comment deleted') return [fieldOf(`p${number}`, 'deleteComment', { id: commentId }, '')];
    if (life !== 'comment edited') return [];
    return [fieldOf(`p${number}`, 'updateComment', { id: commentId, body: editedBodyOf(number) })];
  });
  if (fields.length === 0) return;
  const when = await sender.send(fields);
  for (const { post, number, life } of all) {
    const id = comments.get(number);
    if (id === undefined) continue;
    const state = firstState(number);
    if (life === 'deleted') ledger.note(post, 'POST_DELETED', null, when, null);
    else if (life === 'comment deleted') ledger.note(post, 'COMMENT_DELETED', id, when, state);
    else
      ledger.note(post, 'COMMENT_UPDATED', id, when, {
        ...state,
        comments: [{ id, body: editedBodyOf(number) }],
      });
  }
}

/** Comments on posts and edits others, and comments on the pinned post. Resolves to the comments, by the numbers of the posts. */
async function addComments(
  ledger: Ledger,
  account: WritingAccount,
  all: readonly Living[],
  sender: Sender,
): Promise<ReadonlyMap<number, string>> {
  const body = `beside ${all[0]?.post.title}`;
  const { ids, ...when } = await sender.send([
    noteOn(account, body),
    ...all.flatMap(({ post: { id }, number, life }) => {
      if (life === 'edited') return [fieldOf(`p${number}`, 'updatePost', { id, body: editedBodyOf(number) })];
      if (!COMMENTED.includes(life)) return [];
      return [fieldOf(`p${number}`, 'createComment', { postId: id, body: bodyOf(number) })];
    }),
  ]);
  ledger.noteComment(account.pinned, { id: ids.note ?? '', body }, when);
  const comments = new Map<number, string>();
  for (const { post, number, life } of all) {
    const state = firstState(number);
    const id = ids[`p${number}`];
    if (id === undefined) continue;
    if (life === 'edited') {
      ledger.note(post, 'POST_UPDATED', null, when, { ...state, body: editedBodyOf(number), version: 2 });
      continue;
    }
    comments.set(number, id);
    ledger.note(post, 'COMMENT_CREATED', id, when, { ...state, comments: [{ id, body: bodyOf(number) }] });
  }
  return comments;
}
