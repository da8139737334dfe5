import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { Summary } from '../api/operations.ts';
import { createHeld } from '../live/held.ts';
import { openPosts } from '../live/list.ts';
import { mayBeRead, TOP_PX } from '../live/reader.ts';
import { announce } from '../parts/announce.ts';
import { avatar, byline, tagList } from '../parts/byline.ts';
import { listNotice } from '../parts/notice.ts';
import { type ListRoute, listPath, ORDERS, type Order, postPath } from '../router.ts';
import type { Context, Screen } from './screen.ts';

const PAGE_SIZE = 10;

const counted = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

export interface PostsScreen extends Screen {
  find(slug: string): Summary | undefined;
  /** Returns to where the reader was. False if there is no such place. */
  restore(): boolean;
  /** Keeps the place of the reader. */
  leave(): void;
}

interface AuthorOptions {
  /** The id of the author whose posts are shown. */
  readonly author: string;
  readonly head: () => TemplateResult | typeof nothing;
}

/** The list of posts, of the posts with a tag, or of the posts of an author. */
export function createPosts(context: Context, route: ListRoute, options?: AuthorOptions): PostsScreen {
  const { user, status, update, go } = context;
  const { tag, order } = route;
  const title = tag === undefined ? 'Posts' : `Posts tagged “${tag}”`;
  const isByChange = order === 'updated';
  /** In the order of changes, a changed post waits as a new one does, because it moves. */
  const held = createHeld<Summary>(isByChange ? ({ id, updatedAt }) => `${id} ${updatedAt}` : undefined);
  let place = { top: 0, slug: '' };
  let isShown = false;
  const selection = { tag, author: options?.author, order };
  const list = openPosts(context, selection, PAGE_SIZE, ({ items = [] }) => arrive(held.take(items)));

  async function more(): Promise<void> {
    const before = held.shown.length;
    await list.more();
    const added = held.shown.slice(before);
    if (added.length === 0) return;
    announce(`${counted(added.length, 'more post')}.`);
    void update().then(() => linkOf(added[0]?.slug)?.focus({ preventScroll: true }));
  }

  const linkOf = (slug = '') => document.querySelector<HTMLElement>(`.posts h2 a[href="${postPath(slug)}"]`);

  function mayMove(): boolean {
    if (!isShown) return place.top <= TOP_PX;
    const posts = document.querySelector('.posts');
    return posts === null || !mayBeRead(posts);
  }

  function arrive(posts: readonly Summary[]): void {
    const [post] = posts;
    if (post === undefined) return;
    const isOwn = posts.every(({ author }) => author.id === user.id);
    if (mayMove()) held.show();
    if (!isOwn)
      announce(
        posts.length === 1
          ? `${isByChange ? 'Changed' : 'New'} post by ${post.author.name}: ${post.title}`
          : news(posts.length),
      );
  }

  function showWaiting(): void {
    const [newest] = held.waiting;
    held.show();
    void update().then(() => {
      window.scrollTo({ top: 0 });
      linkOf(newest?.slug)?.focus({ preventScroll: true });
    });
  }

  const news = (count: number) => counted(count, isByChange ? 'changed post' : 'new post');

  const row = (post: Summary) => html`<li>
    <article class="row">
      ${avatar(post.author)}
      <div class="row-text">
        <h2><a href=${postPath(post.slug)} @click=${() => {
          place.slug = post.slug;
        }}>${post.title}</a></h2>
        <p class="meta">
          ${byline(post.author, post.createdAt)}
          <span class="dot" aria-hidden="true">·</span>
          <span>${counted(post.commentCount, 'comment')}</span>
        </p>
        <p class="excerpt">${post.excerpt}</p>
        ${tagList(post.tags)}
      </div>
    </article>
  </li>`;

  const waitingButton = () => html`<div class="waiting">
    <button type="button" class="pill" @click=${showWaiting}>
      ${news(held.waiting.length)}
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

  function sortMenu(): TemplateResult {
    const onChange = ({ currentTarget }: Event) => {
      if (currentTarget instanceof HTMLSelectElement)
        go(listPath({ ...route, order: currentTarget.value as Order }));
    };
    const option = ([name, { label }]: [string, { label: string }]) =>
      html`<option value=${name} ?selected=${name === order}>${label}</option>`;
    return html`<div class="sort">
      <label for="sort">Sort by</label>
      <select id="sort" .value=${order} @change=${onChange}>${Object.entries(ORDERS).map(option)}</select>
    </div>`;
  }

  function head(): TemplateResult {
    const heading = html`<h1 tabindex="-1">${title}</h1>`;
    const all = html`<a class="clear" href=${listPath({ order })}>Show all posts</a>`;
    return html`${options?.head()}
      <div class="screen-head">
        ${options === undefined ? heading : html`<h2>Posts</h2>`}
        ${tag === undefined ? nothing : all} ${status()} ${sortMenu()}
      </div>`;
  }

  return {
    title,
    find: (slug) => held.shown.find((post) => post.slug === slug),
    leave() {
      isShown = false;
      place = { ...place, top: window.scrollY };
    },
    restore() {
      const link = linkOf(place.slug);
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
