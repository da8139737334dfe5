import { html, nothing, type TemplateResult } from 'lit-html';
import { DeletePost, type Summary } from '../api/operations.ts';
import { openPost } from '../live/list.ts';
import { avatar, byline, tagList } from '../parts/byline.ts';
import { listNotice } from '../parts/notice.ts';
import { editPath, listPath, postPath } from '../router.ts';
import { createComments } from './comments.ts';
import { createDeletion } from './deletion.ts';
import { unsavedNameOf } from './editor.ts';
import type { Context, Screen } from './screen.ts';

/**
 * One post with its comments, as they are now.
 * @param name the slug of the post, a former slug, or its id
 * @param known what the list knows of it, shown until it is loaded
 */
export function createPost(context: Context, name: string, known: Summary | undefined): Screen {
  const { mutate, unsaved, mayChange, status, go } = context;
  let path = postPath(name);
  let parts = known && createParts(known);
  const list = openPost(context, known?.id ?? name, ({ items: [post] = [] }) => {
    if (post === undefined) return;
    parts ??= createParts(post);
    redirect(postPath(post.slug));
  });
  const current = () => list.current.items?.[0];
  const isMissing = () => list.current.items?.length === 0;

  /** An address with a former slug or an id becomes the address with the slug. */
  function redirect(to: string): void {
    if (location.hash === path && path !== to) history.replaceState(history.state, '', to);
    path = to;
  }

  function createParts({ id, author }: Summary) {
    return {
      comments: createComments(context, id, () => author.id),
      deletion: createDeletion(context, {
        id,
        what: 'post',
        hint: 'Its comments are deleted too.',
        send: (options) => mutate(DeletePost, { id, ifVersion: current()?.version ?? 0 }, options),
        onDeleted({ show }) {
          show({ postId: id, post: null, commentId: null, comment: null });
          go(listPath());
        },
        refresh: async () => list.refresh(),
      }),
    };
  }

  const ownActions = (id: string) => html`<div class="actions">
    <a class="button" href=${editPath(id)}>${unsaved.read(unsavedNameOf('post', id)) === undefined ? 'Edit' : 'Continue editing'}</a>
    ${parts?.deletion.render()}
  </div>`;

  const article = (of: Summary) => html`
    <div class="post-meta">${avatar(of.author)}<p class="meta">${byline(of.author, of.createdAt)}
      ${of.version === 1 ? nothing : html`<span class="dot" aria-hidden="true">·</span> edited`}</p></div>
    <div class="post-body">${current()?.body ?? of.excerpt}</div>
    ${tagList(of.tags)}
    ${mayChange(of.author.id) ? ownActions(of.id) : nothing}`;

  const shown = (): Summary | undefined => (list.current.items === undefined ? known : current());

  function content(): TemplateResult | typeof nothing {
    if (isMissing())
      return html`<p class="notice" role="alert">This post does not exist. It may have been deleted.</p>`;
    const post = shown();
    return post === undefined ? nothing : article(post);
  }

  function heading(): string {
    if (isMissing()) return 'Not found';
    return shown()?.title ?? (list.current.error === undefined ? 'Loading…' : 'Post');
  }

  return {
    get title() {
      return heading();
    },
    render: () => html`<div class="screen-head">
        <a class="back-link" href=${listPath()}><span aria-hidden="true">←</span> All posts</a> ${status()}
      </div>
      <article class="card post">
        <h1 tabindex="-1">${heading()}</h1>
        ${listNotice(list.current, list.retry)}
        ${content()}
      </article>
      ${list.current.items === undefined ? nothing : parts?.comments.render(shown()?.commentCount)}`,
    dispose() {
      list.close();
      parts?.comments.dispose();
    },
  };
}
