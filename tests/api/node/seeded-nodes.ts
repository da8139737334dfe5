import { type Account, ORIGIN, type TestApp } from '../../support/app.ts';
import { past, seedComments, seedPosts } from '../../support/content.ts';
import { graphqlPost } from '../../support/graphql.ts';

export interface SeededNodes {
  readonly authors: readonly Account[];
  readonly posts: readonly string[];
  readonly comments: readonly string[];
  /** The ids of all of them, the types in turn. */
  readonly mixed: readonly string[];
}

/** As many authors, posts and comments. */
export async function seedNodes(app: TestApp, count: number): Promise<SeededNodes> {
  const authors: Account[] = [];
  for (let at = 0; at < count; at += 1) authors.push(await app.account({ name: `Author ${at}` }));
  const authorOf = (at: number) => authors[at % count]?.id ?? '';
  const posts = await seedPosts(
    app,
    authors.map(({ id }, at) => ({
      authorId: id,
      createdAt: past(at),
      title: `Post ${at}`,
      tags: [`t${at}`],
    })),
  );
  const comments = await seedComments(
    app,
    posts.map((postId, at) => ({
      postId,
      authorId: authorOf(at + 1),
      createdAt: past(at),
      body: `Comment ${at}`,
    })),
  );
  const mixed = authors.flatMap(({ id }, at) => [id, posts[at] ?? '', comments[at] ?? '']);
  return { authors, posts, comments, mixed };
}

/** A request to ask a service that is not the test's own. */
export const graphqlRequest = (key: string, query: string, variables: object): Request =>
  new Request(`${ORIGIN}/graphql`, graphqlPost(query, { key, variables }));
