import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { Summary } from '../api/operations.ts';
import { createHeld } from '../live/held.ts';
import { type List, openPosts } from '../live/list.ts';
import { mayBeRead, TOP_PX } from '../live/reader.ts';
import { announce } from '../parts/announce.ts';
import { avatar, byline, tagList } from '../parts/byline.ts';
import { listNotice } from '../parts/notice.ts';
import { type ListRoute, listPath, ORDERS, type Order, postPath } from '../router.ts';
import type { Context, Screen } from './screen.ts';

const PAGE_SIZE = 10;
/** A search begins this long after the last key. */
const PAUSE_MS = 200;
/** The service takes 200 characters, one of which may be added. */
const MAX_QUERY = 199;

const HINT =
  'Every word must be in a post, from its beginning. Quotes keep words together, and a minus sign excludes one.';

const counted = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

export interface PostsScreen extends Screen {
  /** The address of the list, which changes with the search. */
  readonly path: () => string;
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

/** The list of posts, of the posts with a tag, or of the posts of an author, and a search in it. */
export function createPosts(context: Context, route: ListRoute, options?: AuthorOptions): PostsScreen {
  const { user, status, tags, update, go } = context;
  const { tag, order } = route;
  const heading = tag === undefined ? 'Posts' : `Posts tagged “${tag}”`;
  let { query = '' } = route;
  let text = query;
  let typing: ReturnType<typeof setTimeout> | undefined;
  let held: ReturnType<typeof createHeld<Summary>>;
  let list: List<Summary>;
  /** Shown until the next search has found something. */
  let previous: readonly Summary[] = [];
  let place = { top: 0, slug: '' };
  let isShown = false;

  const isByChange = () => order === 'updated' && query === '';
  const path = () => listPath({ ...route, query });

  function open(): void {
    /** In the order of changes, a changed post waits as a new one does, because it moves. */
    held = createHeld<Summary>(isByChange() ? ({ id, updatedAt }) => `${id} ${updatedAt}` : undefined);
    const selection = { tag, author: options?.author, order, query };
    list = openPosts(context, selection, PAGE_SIZE, ({ items = [] }) => arrive(held.take(items)));
  }

  function search(): void {
    if (text.trim() === query) return;
    previous = shown();
    query = text.trim();
    list.close();
    open();
    history.replaceState(null, '', path());
    void update();
  }

  function type(next: string, pauseMs: number): void {
    text = next;
    clearTimeout(typing);
    typing = setTimeout(search, pauseMs);
    void update();
  }

  function isSearching(): boolean {
    const { items, hasMore, error } = list.current;
    return error === undefined && (items === undefined || (items.length === 0 && hasMore));
  }

  const shown = () => (isSearching() ? previous : held.shown);

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
          ? `${isByChange() ? 'Changed' : 'New'} post by ${post.author.name}: ${post.title}`
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

  const news = (count: number) => counted(count, isByChange() ? 'changed post' : 'new post');

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
    <button type="button" class="primary pill" @click=${showWaiting}>
      ${news(held.waiting.length)}
    </button>
  </div>`;

  function foot(): TemplateResult | typeof nothing {
    const { items, error, hasMore, isReading } = list.current;
    if (isSearching()) return query === '' ? html`<p class="soft loading">Loading posts…</p>` : nothing;
    if (items === undefined || error !== undefined) return nothing;
    if (!hasMore)
      return html`<p class="end soft">${held.shown.length > 0 ? 'These are all posts.' : query === '' ? 'No posts yet.' : HINT}</p>`;
    return html`<button type="button" class="more" aria-busy=${isReading} @click=${more}>
      ${isReading ? 'Loading…' : 'More'}
    </button>`;
  }

  function sortMenu(): TemplateResult {
    const onChange = ({ currentTarget }: Event) => {
      if (currentTarget instanceof HTMLSelectElement)
        go(listPath({ ...route, query, order: currentTarget.value as Order }));
    };
    const option = ([name, { label }]: [string, { label: string }]) =>
      html`<option value=${name} ?selected=${name === order}>${label}</option>`;
    return html`<div class="sort">
      <label for="sort">Sort by</label>
      <select id="sort" .value=${order} @change=${onChange}>${Object.entries(ORDERS).map(option)}</select>
    </div>`;
  }

  function found(): string {
    if (query === '' || list.current.error !== undefined) return '';
    if (isSearching()) return 'Searching…';
    const { length } = held.shown;
    return length === 0
      ? 'No post found.'
      : `${counted(length, 'post')} found${list.current.hasMore ? ' so far' : ''}.`;
  }

  function searchBox(): TemplateResult {
    const onInput = ({ currentTarget }: Event) => {
      if (currentTarget instanceof HTMLInputElement) type(currentTarget.value, PAUSE_MS);
    };
    const onKey = ({ key }: KeyboardEvent) => key === 'Escape' && type('', 0);
    const onSubmit = (event: SubmitEvent) => {
      event.preventDefault();
      if (text.trim() === query && !isSearching()) linkOf(shown()[0]?.slug)?.focus();
      else type(text, 0);
    };
    return html`<form role="search" @submit=${onSubmit}>
      <input type="search" aria-label="Search posts" placeholder="Search" maxlength=${MAX_QUERY} autocomplete="off"
        .value=${text} @input=${onInput} @keydown=${onKey} />
      <p class="found soft" role="status" aria-busy=${isSearching()}>${found()}</p>
    </form>`;
  }

  function head(): TemplateResult {
    const isAll = options === undefined;
    return html`${options?.head()}
      <div class="screen-head">
        ${isAll ? html`<h1 tabindex="-1">${heading}</h1>` : html`<h2>Posts</h2>`}
        ${status()} ${query === '' ? sortMenu() : nothing}
      </div>
      ${isAll ? tags({ ...route, query: text.trim() }) : nothing} ${searchBox()}`;
  }

  open();
  return {
    get title() {
      return query === '' ? heading : `${query} – ${heading}`;
    },
    path,
    find: (slug) => shown().find((post) => post.slug === slug),
    leave() {
      clearTimeout(typing);
      text = query;
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
      const posts = shown();
      return html`${head()}
        ${held.waiting.length === 0 ? nothing : waitingButton()}
        <ol class="posts card" ?hidden=${posts.length === 0} aria-busy=${isSearching()}>
          ${repeat(posts, ({ id }) => id, row)}
        </ol>
        ${foot()} ${listNotice(list.current, list.retry)}`;
    },
    dispose() {
      clearTimeout(typing);
      list.close();
    },
  };
}
