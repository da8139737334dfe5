/** The orders of a list, by the word in its address. */
export const ORDERS = {
  newest: { orderBy: 'NEWEST', label: 'Newest' },
  oldest: { orderBy: 'OLDEST', label: 'Oldest' },
  updated: { orderBy: 'RECENTLY_UPDATED', label: 'Recently updated' },
} as const;

export type Order = keyof typeof ORDERS;

/** A list of posts: of a tag, of a user by handle or id, or of all posts. */
export interface ListRoute {
  readonly screen: 'posts';
  readonly tag?: string | undefined;
  readonly user?: string;
  readonly order: Order;
  /** Only posts that this search finds, the newest first. */
  readonly query?: string;
}

export type ListPlace = Omit<ListRoute, 'screen'>;

/** The address of a screen, after `#`. */
export type Route =
  | ListRoute
  /** By slug, former slug or id. */
  | { readonly screen: 'post'; readonly slug: string }
  | { readonly screen: 'edit' | 'draft'; readonly id: string }
  | { readonly screen: 'new' | 'drafts' };

/** Text that is not valid percent-encoding stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const isOrder = (text: string | null): text is Order => text !== null && Object.hasOwn(ORDERS, text);

/** The route of an address. Unknown ones lead to the list. */
export function routeOf(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [first, name = '', last] = path.split('/').map(decoded);
  if (first === 'new') return { screen: 'new' };
  if (first === 'drafts') return name === '' ? { screen: 'drafts' } : { screen: 'draft', id: name };
  if (first === 'posts' && name !== '')
    return last === 'edit' ? { screen: 'edit', id: name } : { screen: 'post', slug: name };
  const parameters = new URLSearchParams(search);
  const sort = parameters.get('sort');
  const query = parameters.get('q')?.trim() ?? '';
  const list = { screen: 'posts', order: isOrder(sort) ? sort : 'newest', query } as const;
  if (name === '') return list;
  if (first === 'tags') return { ...list, tag: name };
  return first === 'users' ? { ...list, user: name } : list;
}

const under = (folder: string, name: string) => `#/${folder}/${encodeURIComponent(name)}`;

export const newPath = '#/new';
export const draftsPath = '#/drafts';
export const draftPath = (id: string) => under('drafts', id);
export const postPath = (slug: string) => under('posts', slug);
export const editPath = (id: string) => `${under('posts', id)}/edit`;
export const tagPath = (tag: string) => under('tags', tag);
export const userPath = ({ id, handle }: { readonly id: string; readonly handle: string | null }) =>
  under('users', handle ?? id);

/** The address of a list. */
export function listPath({ tag, user, order, query }: ListPlace = { order: 'newest' }): string {
  const path = tag !== undefined ? tagPath(tag) : user !== undefined ? under('users', user) : '#/';
  if (query) return `${path}?${new URLSearchParams({ q: query })}`;
  return order === 'newest' ? path : `${path}?sort=${order}`;
}
