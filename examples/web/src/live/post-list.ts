import type { PostSummary } from '../api/operations.ts';

export interface PostPage {
  readonly nodes: readonly PostSummary[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** Newest first, as the service sorts (docs/contract.md section 1). Ids are UUIDv7 and break ties. */
function byAge(one: PostSummary, other: PostSummary): number {
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt ? 1 : -1;
  return one.id < other.id ? 1 : -1;
}

/**
 * The posts of a list: pages by cursor below, events above. A post that comes both ways stands in the list once. New
 * posts wait in `waiting` until they are shown, so that nothing moves under a reader.
 */
export function createPostList() {
  const known = new Set<string>();
  let shown: readonly PostSummary[] = [];
  let waiting: readonly PostSummary[] = [];
  let end: PostPage['pageInfo'] | undefined;

  const news = (posts: readonly PostSummary[]) => posts.filter(({ id }) => !known.has(id));

  function know(posts: readonly PostSummary[]): readonly PostSummary[] {
    for (const { id } of posts) known.add(id);
    return posts;
  }

  return {
    get shown() {
      return shown;
    },
    get waiting() {
      return waiting;
    },
    /** Undefined before the first page. */
    get end() {
      return end;
    },
    /** Adds the page after `end`. Returns the posts that are new. */
    append({ nodes, pageInfo }: PostPage): readonly PostSummary[] {
      const added = know(news(nodes));
      shown = [...shown, ...added];
      end = pageInfo;
      return added;
    },
    /**
     * Merges the first page as it is now. If it has nothing in common with what was there, posts between the two are
     * unknown, and the list begins anew.
     */
    refresh(page: PostPage): readonly PostSummary[] {
      const added = news(page.nodes);
      if (end === undefined || (added.length === page.nodes.length && page.pageInfo.hasNextPage)) {
        known.clear();
        shown = know(page.nodes);
        waiting = [];
        end = page.pageInfo;
        return [];
      }
      waiting = [...know(added), ...waiting].sort(byAge);
      return added;
    },
    /** A new post waits. Returns whether it was unknown. */
    announce(post: PostSummary): boolean {
      if (known.has(post.id)) return false;
      know([post]);
      waiting = [post, ...waiting].sort(byAge);
      return true;
    },
    showWaiting(): void {
      shown = [...waiting, ...shown].sort(byAge);
      waiting = [];
    },
    /** Shows a changed post in its place. */
    replace(post: PostSummary): void {
      const swap = (old: PostSummary) => (old.id === post.id ? post : old);
      shown = shown.map(swap);
      waiting = waiting.map(swap);
    },
    /** Its event may still arrive, so its id stays known. */
    remove(id: string): void {
      shown = shown.filter((post) => post.id !== id);
      waiting = waiting.filter((post) => post.id !== id);
    },
  };
}

export type PostList = ReturnType<typeof createPostList>;
