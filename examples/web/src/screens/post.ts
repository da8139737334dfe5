import { html, nothing, type TemplateResult } from 'lit-html';
import { query } from '../api/client.ts';
import { createLoader } from '../api/loader.ts';
import { type Post, PostQuery, type PostSummary } from '../api/operations.ts';
import { avatar, byline, tagList } from '../parts/byline.ts';
import { problemNotice } from '../parts/notice.ts';
import { editPath, listPath } from '../router.ts';
import { createComments } from './comments.ts';
import { createDeletion } from './deletion.ts';
import type { Context, Screen } from './screen.ts';

export interface PostScreenOptions {
  readonly id: string;
  /** What the list knows of it, shown until the rest is loaded. */
  readonly known: PostSummary | undefined;
  readonly onChanged: (post: PostSummary) => void;
  readonly onDeleted: (id: string) => void;
}

/** One post with its comments. */
export function createPost(context: Context, { id, known, onChanged, onDeleted }: PostScreenOptions): Screen {
  const { user, update, onSignedOut, go } = context;
  let post: Post | undefined;
  let isMissing = false;

  const comments = createComments(context, id, () => {
    if (post === undefined) return;
    post = { ...post, commentCount: post.commentCount + 1 };
    onChanged(post);
  });
  const deletion = createDeletion(context, id, () => {
    onDeleted(id);
    go(listPath);
  });
  const loader = createLoader({
    load: () => query(PostQuery, { id, first: comments.pageSize }),
    onData(data) {
      isMissing = data.post === null;
      if (data.post === null) return;
      post = data.post;
      comments.begin(post.commentsConnection);
      onChanged(post);
    },
    onSignedOut,
    update,
  });
  void loader.run();

  const ownActions = () => html`<div class="actions">
    <a class="button" href=${editPath(id)}>Edit</a>
    ${deletion.render()}
  </div>`;

  const article = (of: PostSummary, body: string | undefined) => html`
    <div class="post-meta">${avatar(of.author)}<p class="meta">${byline(of.author, of.createdAt)}</p></div>
    ${body === undefined ? html`<p class="soft loading">Loading…</p>` : html`<div class="post-body">${body}</div>`}
    ${tagList(of.tags)}
    ${of.author.id === user.id && body !== undefined ? ownActions() : nothing}`;

  function content(): TemplateResult | typeof nothing {
    const found = post ?? known;
    if (isMissing)
      return html`<p class="notice" role="alert">This post does not exist. It may have been deleted.</p>`;
    return found === undefined ? nothing : article(found, post?.body);
  }

  function heading(): string {
    if (isMissing) return 'Not found';
    return (post ?? known)?.title ?? (loader.problem === undefined ? 'Loading…' : 'Post');
  }

  return {
    get title() {
      return heading();
    },
    render:
      () => html`<p class="back"><a class="back-link" href=${listPath}><span aria-hidden="true">←</span> All posts</a></p>
      <article class="card post">
        <h1 tabindex="-1">${heading()}</h1>
        ${loader.problem === undefined ? nothing : problemNotice(loader.problem, () => void loader.run())}
        ${content()}
      </article>
      ${post === undefined || isMissing ? nothing : comments.render(post.commentCount)}`,
    dispose() {
      loader.dispose();
      comments.dispose();
    },
  };
}
