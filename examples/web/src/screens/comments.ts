import type { ResultOf } from 'gql.tada';
import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { type Comment, CreateComment } from '../api/operations.ts';
import { field, focusInvalid, outcome, quoted, unsavedNote } from '../forms/fields.ts';
import { createTask } from '../forms/task.ts';
import { openComments } from '../live/list.ts';
import { announce } from '../parts/announce.ts';
import { listNotice } from '../parts/notice.ts';
import { createCommentItem, unsavedOn } from './comment.ts';
import type { Context, Mutated } from './screen.ts';

const PAGE_SIZE = 20;

/** The comments on a post, the last ones in the order of a talk, and a form for another one. */
export function createComments(context: Context, postId: string, postAuthor: () => string | undefined) {
  const { user, unsaved, mutate, update } = context;
  const items = new Map<string, ReturnType<typeof createCommentItem>>();
  let newest: string | undefined;
  const list = openComments(context, postId, PAGE_SIZE, ({ items: found = [] }) => {
    for (const comment of found) itemOf(comment).show(comment);
    const [latest] = found;
    if (latest === undefined || latest.id === newest) return;
    if (newest !== undefined && newest < latest.id && latest.author.id !== user.id)
      announce(`${latest.author.name} has commented.`);
    newest = latest.id;
  });

  function itemOf(comment: Comment) {
    const known = items.get(comment.id);
    const item =
      known ?? createCommentItem(context, { comment, postId, postAuthor, refresh: () => list.refresh() });
    items.set(comment.id, item);
    return item;
  }

  async function earlier(): Promise<void> {
    const before = list.current.items?.length ?? 0;
    await list.more();
    const added = list.current.items?.slice(before) ?? [];
    announce(`${added.length} earlier comments.`);
    void update().then(() => document.getElementById(`comment-${added[0]?.id}`)?.focus());
  }

  const task = createTask<'body', Mutated<ResultOf<typeof CreateComment>>>(context, {
    name: `comment on ${postId}`,
    initial: { body: '' },
    send: ({ body }, options) => mutate(CreateComment, { postId, body }, options),
    onDone({ data, show }) {
      announce('Your comment is published.');
      const { post, ...comment } = data.createComment;
      show({ postId, post, commentId: comment.id, comment });
    },
  });

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget;
    await task.submit();
    if (form instanceof HTMLFormElement && form.isConnected) focusInvalid(form);
  }

  function earlierButton(): TemplateResult | typeof nothing {
    const { error, hasMore, isReading } = list.current;
    if (error !== undefined) return listNotice(list.current, list.retry);
    if (!hasMore) return nothing;
    return html`<button type="button" class="more" aria-busy=${isReading} @click=${earlier}>
      ${isReading ? 'Loading…' : 'Earlier comments'}
    </button>`;
  }

  /** The words of this user for comments that somebody has deleted: no page that was read has them. Ids are in order. */
  function leftOver(isPostGone: boolean): readonly TemplateResult[] {
    const { items: found = [], hasMore } = list.current;
    const known = new Set(isPostGone ? [] : found.map(({ id }) => id));
    const oldest = hasMore ? found.at(-1)?.id : '';
    const isRead = (id: string) => list.current.items !== undefined && oldest !== undefined && id > oldest;
    const isGone = (id: string) => !known.has(id) && (isPostGone || isRead(id));
    const names = unsaved.names(unsavedOn(postId));
    return names.filter((name) => isGone(name.slice(unsavedOn(postId).length))).map(remains);
  }

  function remains(name: string): TemplateResult {
    const discard = () => {
      unsaved.remove(name);
      void update();
    };
    return html`<div class="notice" role="status">
      <p>The comment that you were changing was deleted. Your text:</p>
      ${quoted('Your text', unsaved.read(name)?.values.body ?? '')}
      <button type="button" class="small" @click=${discard}>Discard it</button>
    </div>`;
  }

  function talk(): TemplateResult | typeof nothing {
    const shown = (list.current.items ?? []).toReversed();
    if (shown.length === 0) return nothing;
    return html`<ol class="comments">${repeat(
      shown,
      ({ id }) => id,
      (comment) => itemOf(comment).render(),
    )}</ol>`;
  }

  const form = () => html`<form class="comment-form" novalidate @submit=${submit}>
    ${field({ task, name: 'body', label: 'Your comment', rows: 3 })}
    ${unsavedNote(task)} ${outcome(task)}
    <div class="actions">
      <button class="primary" aria-busy=${task.state.kind === 'sending'}>
        ${task.state.kind === 'sending' ? 'Sending…' : 'Comment'}
      </button>
    </div>
  </form>`;

  const unsent = () => html`<section class="card">
    <h2>Your comment was not sent</h2>
    ${quoted('Your comment', task.values.body)}
    <button type="button" class="small" @click=${task.discard}>Discard it</button>
  </section>`;

  return {
    /** `count` is undefined once the post is gone. What was typed is still shown. */
    render(count: number | undefined): TemplateResult {
      if (count === undefined) {
        return html`${task.values.body === '' ? nothing : unsent()} ${leftOver(true)}`;
      }
      return html`<section class="card" aria-labelledby="comments-title">
        <h2 id="comments-title" tabindex="-1">${count === 0 ? 'No comments yet' : `Comments (${count})`}</h2>
        ${earlierButton()} ${talk()} ${leftOver(false)} ${form()}
      </section>`;
    },
    dispose: list.close,
  };
}
