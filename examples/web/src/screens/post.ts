import { html, nothing, type TemplateResult } from 'lit-html';
import { DeletePost, type Post } from '../api/operations.ts';
import { openPost } from '../live/list.ts';
import { avatar, byline, tagList } from '../parts/byline.ts';
import { listNotice } from '../parts/notice.ts';
import { editPath, listPath } from '../router.ts';
import { createComments } from './comments.ts';
import { createDeletion } from './deletion.ts';
import { draftNameOf } from './editor.ts';
import type { Context, Screen } from './screen.ts';

/**
 * One post with its comments, as they are now.
 * @param known what the list knows of it, shown until it is loaded
 */
export function createPost(context: Context, id: string, known: Post | undefined): Screen {
  const { mutate, drafts, mayChange, status, go } = context;
  const list = openPost(context, id);
  function current(): Post | undefined {
    const { items = known && [known] } = list.current;
    return items?.[0];
  }
  const isMissing = () => list.current.items?.length === 0;
  const comments = createComments(context, id, () => current()?.author.id);
  const deletion = createDeletion(context, {
    id,
    what: 'post',
    hint: 'Its comments are deleted too.',
    send: (options) => mutate(DeletePost, { id, ifVersion: current()?.version ?? 0 }, options),
    onDeleted({ show }) {
      show({ postId: id, post: null, commentId: null, comment: null });
      go(listPath);
    },
    refresh: list.refresh,
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
    return current()?.title ?? (list.current.error === undefined ? 'Loading…' : 'Post');
  }

  return {
    get title() {
      return heading();
    },
    render: () => html`<div class="screen-head">
        <a class="back-link" href=${listPath}><span aria-hidden="true">←</span> All posts</a> ${status()}
      </div>
      <article class="card post">
        <h1 tabindex="-1">${heading()}</h1>
        ${listNotice(list.current, list.retry)}
        ${content()}
      </article>
      ${list.current.items === undefined ? nothing : comments.render(current()?.commentCount)}`,
    dispose() {
      list.close();
      comments.dispose();
    },
  };
}
