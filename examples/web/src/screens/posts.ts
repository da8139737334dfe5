import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { query } from '../api/client.ts';
import { createLoader } from '../api/loader.ts';
import { type PostSummary, PostsQuery } from '../api/operations.ts';
import { createPostList } from '../live/post-list.ts';
import { mayBeRead, TOP_PX } from '../live/reader.ts';
import { announce } from '../parts/announce.ts';
import { avatar, byline, tagList } from '../parts/byline.ts';
import { problemNotice } from '../parts/notice.ts';
import { listPath, newPath, postPath } from '../router.ts';
import type { Context, Screen } from './screen.ts';

const PAGE_SIZE = 10;

const counted = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

export interface PostsScreen extends Screen {
  readonly tag: string | undefined;
  /** A post that somebody has just written. */
  onPost(post: PostSummary): void;
  /** The list may lack posts. */
  onGap(): void;
  find(id: string): PostSummary | undefined;
  replace(post: PostSummary): void;
  remove(id: string): void;
  /** Returns to where the reader was. False if there is no such place. */
  restore(): boolean;
  /** Keeps the place of the reader. */
  leave(): void;
}

/** The list of posts, or of those with a tag. `status` says whether it is live. */
export function createPosts(
  { user, update, onSignedOut }: Context,
  tag: string | undefined,
  status: () => TemplateResult,
): PostsScreen {
  const list = createPostList();
  const page = (after: string | null) => query(PostsQuery, { first: PAGE_SIZE, after, tag: tag ?? null });
  let place = { top: 0, id: '' };
  let isShown = false;
  const common = { onSignedOut, update };

  const first = createLoader({
    load: () => page(null),
    onData({ postsConnection }) {
      const isFirst = list.end === undefined;
      const added = list.refresh(postsConnection);
      if (!isFirst && added.length > 0) arrive(added);
    },
    ...common,
  });
  const more = createLoader({
    async load() {
      const after = list.end?.endCursor ?? null;
      return { after, ...(await page(after)) };
    },
    onData({ after, postsConnection }) {
      // The list has begun anew meanwhile.
      if (after !== (list.end?.endCursor ?? null)) return;
      const added = list.append(postsConnection);
      announce(`${counted(added.length, 'more post')}.`);
      void update().then(() => linkOf(added[0]?.id ?? '')?.focus({ preventScroll: true }));
    },
    ...common,
  });

  const linkOf = (id: string) => document.querySelector<HTMLElement>(`.posts a[href="${postPath(id)}"]`);

  function mayMove(): boolean {
    if (!isShown) return place.top <= TOP_PX;
    const posts = document.querySelector('.posts');
    return posts === null || !mayBeRead(posts);
  }

  function arrive(posts: readonly PostSummary[]): void {
    const [post] = posts;
    if (post === undefined) return;
    const isOwn = posts.every(({ author }) => author.id === user.id);
    if (mayMove()) list.showWaiting();
    if (!isOwn)
      announce(
        posts.length === 1
          ? `New post by ${post.author.name}: ${post.title}`
          : counted(posts.length, 'new post'),
      );
    void update();
  }

  function showWaiting(): void {
    const [newest] = list.waiting;
    list.showWaiting();
    void update().then(() => {
      window.scrollTo({ top: 0 });
      linkOf(newest?.id ?? '')?.focus({ preventScroll: true });
    });
  }

  const row = (post: PostSummary) => html`<li>
    <article class="row">
      ${avatar(post.author)}
      <div class="row-text">
        <h2><a href=${postPath(post.id)} @click=${() => {
          place.id = post.id;
        }}>${post.title}</a></h2>
        <p class="meta">
          ${byline(post.author, post.createdAt)}
          <span class="dot" aria-hidden="true">·</span>
          <span>${counted(post.commentCount, 'comment')}</span>
        </p>
        ${tagList(post.tags)}
      </div>
    </article>
  </li>`;

  const waitingButton = () => html`<div class="waiting">
    <button type="button" class="pill" @click=${showWaiting}>
      ${counted(list.waiting.length, 'new post')}
    </button>
  </div>`;

  function foot(): TemplateResult | typeof nothing {
    if (list.end === undefined) return nothing;
    if (more.problem !== undefined) return problemNotice(more.problem, () => void more.run());
    if (!list.end.hasNextPage)
      return html`<p class="end soft">${list.shown.length === 0 ? 'No posts yet.' : 'These are all posts.'}</p>`;
    return html`<button type="button" class="more" aria-busy=${more.isLoading} @click=${() => more.run()}>
      ${more.isLoading ? 'Loading…' : 'More'}
    </button>`;
  }

  function head(): TemplateResult {
    const all = html`<a class="clear" href=${listPath}>Show all posts</a>`;
    return html`<div class="screen-head">
      <h1 tabindex="-1">${tag === undefined ? 'Posts' : `Posts tagged “${tag}”`}</h1>
      ${tag === undefined ? html`<a class="button primary" href=${newPath}>New post</a>` : all}
    </div>`;
  }

  void first.run();
  return {
    tag,
    title: tag === undefined ? 'Posts' : `Posts tagged “${tag}”`,
    onPost(post) {
      if (tag !== undefined && !post.tags.includes(tag)) return;
      if (list.announce(post)) arrive([post]);
    },
    onGap: () => void first.refresh(),
    find: (id) => list.shown.find((post) => post.id === id),
    replace: list.replace,
    remove: list.remove,
    leave() {
      isShown = false;
      place = { ...place, top: window.scrollY };
    },
    restore() {
      const link = linkOf(place.id);
      link?.focus({ preventScroll: true });
      if (link !== null) window.scrollTo({ top: place.top });
      return link !== null;
    },
    render() {
      isShown = true;
      const isEmpty = list.end === undefined;
      return html`${head()} ${status()}
        ${first.problem === undefined ? nothing : problemNotice(first.problem, () => void first.run())}
        ${list.waiting.length === 0 ? nothing : waitingButton()}
        <ol class="posts card" ?hidden=${list.shown.length === 0} aria-busy=${first.isLoading && isEmpty}>
          ${repeat(list.shown, ({ id }) => id, row)}
        </ol>
        ${isEmpty && first.isLoading ? html`<p class="soft loading">Loading posts…</p>` : foot()}`;
    },
    dispose() {
      first.dispose();
      more.dispose();
    },
  };
}
