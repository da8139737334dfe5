import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { mutate, query } from '../api/client.ts';
import { createLoader } from '../api/loader.ts';
import { type Comment, CommentsQuery, CreateComment, type Post } from '../api/operations.ts';
import { field, focusInvalid, outcome } from '../forms/fields.ts';
import { createTask } from '../forms/task.ts';
import { announce } from '../parts/announce.ts';
import { avatar, byline } from '../parts/byline.ts';
import { problemNotice } from '../parts/notice.ts';
import type { Context } from './screen.ts';

const PAGE_SIZE = 20;

type CommentPage = Post['commentsConnection'];

/** The comments on a post, oldest first, and a form for another one. */
export function createComments(context: Context, postId: string, onAdded: () => void) {
  const { drafts, update, onSignedOut } = context;
  let loaded: readonly Comment[] = [];
  /** What this page has written since. It belongs at the end, which may not be loaded yet. */
  let written: readonly Comment[] = [];
  let end: CommentPage['pageInfo'] | undefined;

  function append({ nodes, pageInfo }: CommentPage): void {
    const known = new Set(loaded.map(({ id }) => id));
    loaded = [...loaded, ...nodes.filter(({ id }) => !known.has(id))];
    const ids = new Set(loaded.map(({ id }) => id));
    written = written.filter(({ id }) => !ids.has(id));
    end = pageInfo;
  }

  const more = createLoader({
    load: () => query(CommentsQuery, { id: postId, first: PAGE_SIZE, after: end?.endCursor ?? null }),
    onData({ post }) {
      if (post === null) return;
      const before = loaded.length;
      append(post.commentsConnection);
      announce(`${loaded.length - before} more comments.`);
      const added = loaded[before];
      void update().then(() => document.getElementById(`comment-${added?.id}`)?.focus());
    },
    onSignedOut,
    update,
  });

  const task = createTask<'body', Comment>({
    name: `comment on ${postId}`,
    drafts,
    initial: { body: '' },
    send: async ({ body }, key, onPause) =>
      (await mutate(CreateComment, { postId, body }, key, onPause)).createComment,
    onDone(comment) {
      written = [...written, comment];
      announce('Your comment is published.');
      onAdded();
      void update();
    },
    onSignedOut,
    update,
  });

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget;
    await task.submit();
    if (form instanceof HTMLFormElement && form.isConnected) focusInvalid(form);
  }

  const item = (comment: Comment) => html`<li id="comment-${comment.id}" class="comment" tabindex="-1">
    ${avatar(comment.author)}
    <div class="row-text">
      <p class="meta">${byline(comment.author, comment.createdAt)}</p>
      <p class="comment-body">${comment.body}</p>
    </div>
  </li>`;

  function moreButton(): TemplateResult | typeof nothing {
    if (more.problem !== undefined) return problemNotice(more.problem, () => void more.run());
    if (end?.hasNextPage !== true) return nothing;
    return html`<button type="button" class="more" aria-busy=${more.isLoading} @click=${() => more.run()}>
      ${more.isLoading ? 'Loading…' : 'More comments'}
    </button>`;
  }

  const items = (comments: readonly Comment[]) =>
    comments.length === 0
      ? nothing
      : html`<ol class="comments">${repeat(comments, ({ id }) => id, item)}</ol>`;

  return {
    pageSize: PAGE_SIZE,
    begin(page: CommentPage): void {
      loaded = [];
      append(page);
    },
    render: (count: number): TemplateResult => html`<section class="card" aria-labelledby="comments-title">
      <h2 id="comments-title">${count === 0 ? 'No comments yet' : `Comments (${count})`}</h2>
      ${items(loaded)} ${moreButton()} ${items(written)}
      <form class="comment-form" novalidate @submit=${submit}>
        ${field({ task, name: 'body', label: 'Your comment', rows: 3 })}
        ${outcome(task)}
        <div class="actions">
          <button class="primary" aria-busy=${task.state.kind === 'sending'}>
            ${task.state.kind === 'sending' ? 'Sending…' : 'Comment'}
          </button>
        </div>
      </form>
    </section>`,
    dispose: more.dispose,
  };
}
