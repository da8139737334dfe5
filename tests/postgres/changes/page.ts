import { expect } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { answerOf, graphqlPost } from '../../support/graphql.ts';
import { dataOf } from '../../support/refusal.ts';

export const PAGE =
  '{ posts(limit: 100) { id title tags version comments(limit: 100) { id body version } } }';

export const FOLLOW = `subscription ($post: ID, $author: ID, $kinds: [ChangeKind!]) {
  changes(post: $post, author: $author, kinds: $kinds) {
    kind postId commentId post { id title tags version } comment { id body version } } }`;

interface Comment {
  readonly id: string;
  readonly body: string;
  readonly version: number;
}

interface Post {
  readonly id: string;
  readonly title: string;
  readonly tags: readonly string[];
  readonly version: number;
}

/** A change with what a page shows of what it is about. */
export interface Followed {
  readonly kind: string;
  readonly postId: string;
  readonly commentId: string | null;
  readonly post: Post | null;
  readonly comment: Comment | null;
}

interface Shown {
  readonly post: Post;
  readonly comments: ReadonlyMap<string, Comment>;
}

/** All posts and their comments as a client shows them. */
export type Page = ReadonlyMap<string, Shown>;

/** Reads a page, and the id from which to follow it. */
export async function readPage(
  { fetch }: Pick<TestApp, 'fetch'>,
  key: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly page: Page; readonly id: string }> {
  const asked = graphqlPost(PAGE, { key, headers: { 'x-show-event-id': '1', ...headers } });
  const answer = await answerOf(await fetch('/graphql', asked));
  const posts: readonly (Post & { readonly comments: readonly Comment[] })[] = dataOf(answer).posts;
  expect(posts.length).toBeLessThan(100);
  const page = new Map(
    posts.map(({ comments, ...post }) => [
      post.id,
      { post, comments: new Map(comments.map((comment) => [comment.id, comment])) },
    ]),
  );
  return { page, id: String(answer.extensions?.eventId) };
}

/** The page after a change, by what came with it. */
function after(page: Page, { postId, commentId, post, comment }: Followed): Page {
  const next = new Map(page);
  const comments = new Map(page.get(postId)?.comments);
  if (commentId !== null && comment === null) comments.delete(commentId);
  if (comment !== null) comments.set(comment.id, comment);
  if (post === null) next.delete(postId);
  else next.set(postId, { post, comments });
  return next;
}

/** What a client shows that has followed a page. */
export const followed = (page: Page, changes: readonly Followed[]): Page => changes.reduce(after, page);

/** As a text that can be compared, whatever the order. */
export const pageText = (page: Page): string =>
  JSON.stringify(
    [...page.values()]
      .map(
        ({ post, comments }) =>
          [post, [...comments.values()].sort((a, b) => (a.id < b.id ? -1 : 1))] as const,
      )
      .sort(([a], [b]) => (a.id < b.id ? -1 : 1)),
  );
