import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { Post } from '../api/operations.ts';
import { createHeld } from '../live/held.ts';
import { openPosts } from '../live/list.ts';
import { mayBeRead, TOP_PX } from '../live/reader.ts';
import { announce } from '../parts/announce.ts';
import { avatar, byline, tagList } from '../parts/byline.ts';
import { listNotice } from '../parts/notice.ts';
import { listPath, postPath } from '../router.ts';
import type { Context, Screen } from './screen.ts';

const PAGE_SIZE = 10;

const counted = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

export interface PostsScreen extends Screen {
  readonly tag: string | undefined;
  find(id: string): Post | undefined;
  /** Returns to where the reader was. False if there is no such place. */
  restore(): boolean;
  /** Keeps the place of the reader. */
  leave(): void;
}

/** The list of posts, or of those with a tag. */
export function createPosts(context: Context, tag: string | undefined): PostsScreen {
  const { user, status, update } = context;
  const held = createHeld<Post>();
  let place = { top: 0, id: '' };
  let isShown = false;
  const list = openPosts(context, { tag, first: PAGE_SIZE }, ({ items = [] }) => arrive(held.take(items)));

  async function more(): Promise<void> {
    const before = held.shown.length;
    await list.more();
    const added = held.shown.slice(before);
    if (added.length === 0) return;
    announce(`${counted(added.length, 'more post')}.`);
    void update().then(() => linkOf(added[0]?.id ?? '')?.focus({ preventScroll: true }));
  }

  const linkOf = (id: string) => document.querySelector<HTMLElement>(`.posts a[href="${postPath(id)}"]`);

  function mayMove(): boolean {
    if (!isShown) return place.top <= TOP_PX;
    const posts = document.querySelector('.posts');
    return posts === null || !mayBeRead(posts);
  }

  function arrive(posts: readonly Post[]): void {
    const [post] = posts;
    if (post === undefined) return;
    const isOwn = posts.every(({ author }) => author.id === user.id);
    if (mayMove()) held.show();
    if (!isOwn)
      announce(
        posts.length === 1
          ? `New post by ${post.author.name}: ${post.title}`
          : counted(posts.length, 'new post'),
      );
  }

  function showWaiting(): void {
    const [newest] = held.waiting;
    held.show();
    void update().then(() => {
      window.scrollTo({ top: 0 });
      linkOf(newest?.id ?? '')?.focus({ preventScroll: true });
    });
  }

  const row = (post: Post) => html`<li>
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
      ${counted(held.waiting.length, 'new post')}
    </button>
  </div>`;

  function foot(): TemplateResult | typeof nothing {
    const { items, error, hasMore, isReading } = list.current;
    if (items === undefined || error !== undefined) return nothing;
    if (!hasMore)
      return html`<p class="end soft">${held.shown.length === 0 ? 'No posts yet.' : 'These are all posts.'}</p>`;
    return html`<button type="button" class="more" aria-busy=${isReading} @click=${more}>
      ${isReading ? 'Loading…' : 'More'}
    </button>`;
  }

  function head(): TemplateResult {
    const all = html`<a class="clear" href=${listPath}>Show all posts</a>`;
    return html`<div class="screen-head">
      <h1 tabindex="-1">${tag === undefined ? 'Posts' : `Posts tagged “${tag}”`}</h1>
      ${tag === undefined ? nothing : all} ${status()}
    </div>`;
  }

  return {
    tag,
    title: tag === undefined ? 'Posts' : `Posts tagged “${tag}”`,
    find: (id) => held.shown.find((post) => post.id === id),
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
      const { items, error, isReading } = list.current;
      const isEmpty = items === undefined;
      return html`${head()}
        ${held.waiting.length === 0 ? nothing : waitingButton()}
        <ol class="posts card" ?hidden=${held.shown.length === 0} aria-busy=${isReading && isEmpty}>
          ${repeat(held.shown, ({ id }) => id, row)}
        </ol>
        ${isEmpty && error === undefined ? html`<p class="soft loading">Loading posts…</p>` : foot()}
        ${listNotice(list.current, list.retry)}`;
    },
    dispose: list.close,
  };
}
