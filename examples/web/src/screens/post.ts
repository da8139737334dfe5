import { html, nothing, type TemplateResult } from 'lit-html';
import { mutate } from '../api/client.ts';
import { DeletePost, type Post } from '../api/operations.ts';
import { openPost } from '../live/list.ts';
import { avatar, byline, tagList } from '../parts/byline.ts';
import { problemNotice } from '../parts/notice.ts';
import { editPath, listPath } from '../router.ts';
import { createComments } from './comments.ts';
import { createDeletion } from './deletion.ts';
import { draftNameOf } from './editor.ts';
import type { Context, Screen } from './screen.ts';

export interface PostScreenOptions {
  readonly id: string;
  /** What the list knows of it, shown until it is loaded. */
  readonly known: Post | undefined;
  readonly status: () => TemplateResult;
}

/** One post with its comments, as they are now. */
export function createPost(context: Context, { id, known, status }: PostScreenOptions): Screen {
  const { changes, drafts, mayChange, go } = context;
  const list = openPost(context, id);
  const current = (): Post | undefined => (list.items === undefined ? known : list.items[0]);
  const isMissing = () => list.items?.length === 0;
  const comments = createComments(context, id, () => current()?.author.id);
  const deletion = createDeletion(context, {
    id,
    what: 'post',
    hint: 'Its comments are deleted too.',
    async send(key, onPause) {
      const variables = { id, ifVersion: current()?.version ?? 0 };
      const { data } = await mutate(DeletePost, variables, key, onPause).catch((error: unknown) => {
        // If somebody has changed it, the user sees that first.
        void list.refresh();
        throw error;
      });
      return data.deletePost;
    },
    onDeleted() {
      changes.optimisticChange()({ postId: id, post: null, commentId: null, comment: null });
      go(listPath);
    },
  });

  const ownActions = () => html`<div class="actions">
    <a class="button" href=${editPath(id)}>${drafts.read(draftNameOf(id)) === undefined ? 'Edit' : 'Edit your draft'}</a>
    ${deletion.render()}
  </div>`;

  const article = (of: Post) => html`
    <div class="post-meta">${avatar(of.author)}<p class="meta">${byline(of.author, of.createdAt)}
      ${of.version === 1 ? nothing : html`<span class="dot" aria-hidden="true">·</span> edited`}</p></div>
    <div class="post-body">${of.body}</div>
    ${tagList(of.tags)}
    ${mayChange(of.author.id) ? ownActions() : nothing}`;

  function content(): TemplateResult | typeof nothing {
    if (isMissing())
      return html`<p class="notice" role="alert">This post does not exist. It may have been deleted.</p>`;
    const post = current();
    return post === undefined ? nothing : article(post);
  }

  function heading(): string {
    if (isMissing()) return 'Not found';
    return current()?.title ?? (list.problem === undefined ? 'Loading…' : 'Post');
  }

  return {
    get title() {
      return heading();
    },
    render:
      () => html`<p class="back"><a class="back-link" href=${listPath}><span aria-hidden="true">←</span> All posts</a></p>
      ${status()}
      <article class="card post">
        <h1 tabindex="-1">${heading()}</h1>
        ${list.problem === undefined ? nothing : problemNotice(list.problem, list.retry)}
        ${content()}
      </article>
      ${list.items === undefined ? nothing : comments.render(list.items[0]?.commentCount)}`,
    dispose() {
      list.close();
      comments.dispose();
    },
  };
}
