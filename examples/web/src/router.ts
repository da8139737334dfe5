/** The address of a screen, after `#`. */
export type Route =
  | { readonly screen: 'posts'; readonly tag?: string }
  | { readonly screen: 'post' | 'edit'; readonly id: string }
  | { readonly screen: 'new' };

/** Text that is not valid percent-encoding stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The route of an address. Unknown ones lead to the list. */
export function routeOf(hash: string): Route {
  const [first, second, third] = hash.replace(/^#\/?/, '').split('/');
  if (first === 'new') return { screen: 'new' };
  if (first === 'tags' && second !== undefined) return { screen: 'posts', tag: decoded(second) };
  if (first !== 'posts' || second === undefined || second === '') return { screen: 'posts' };
  return { screen: third === 'edit' ? 'edit' : 'post', id: decoded(second) };
}

export const listPath = '#/';
export const newPath = '#/new';
export const postPath = (id: string) => `#/posts/${encodeURIComponent(id)}`;
export const editPath = (id: string) => `${postPath(id)}/edit`;
