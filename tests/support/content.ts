import { expect } from 'vitest';
import { newId } from '../../src/platform/ids.ts';
import type { TestApp } from './app.ts';

/** An instant that content of the past is made at, `ms` milliseconds on. */
export const past = (ms = 0): Date => new Date(Date.UTC(2020, 0, 1) + ms);

export interface SeededPost {
  readonly authorId: string;
  readonly createdAt?: Date;
  readonly title?: string;
  readonly body?: string;
  readonly tags?: readonly string[];
}

/** Writes posts as they could have come to be in the past, which the API itself cannot be asked for. Their ids, in order. */
export async function seedPosts(app: TestApp, posts: readonly SeededPost[]): Promise<string[]> {
  const rows = posts.map(
    ({ authorId, createdAt = new Date(), title = 'Seeded', body = 'Seeded.', tags = [] }) => ({
      post: { id: newId(), authorId, createdAt, title, body },
      tags,
    }),
  );
  await app.prisma.post.createMany({ data: rows.map(({ post }) => post) });
  await app.prisma.tag.createMany({
    data: rows.flatMap(({ post: { id, createdAt }, tags }) =>
      tags.map((name, index) => ({ postId: id, name, position: index + 1, createdAt })),
    ),
  });
  return rows.map(({ post }) => post.id);
}

export interface SeededComment {
  readonly postId: string;
  readonly authorId: string;
  readonly createdAt?: Date;
  readonly body?: string;
}

/** The same for comments. */
export async function seedComments(app: TestApp, comments: readonly SeededComment[]): Promise<string[]> {
  const data = comments.map(({ postId, authorId, createdAt = new Date(), body = 'Seeded.' }) => ({
    id: newId(),
    postId,
    authorId,
    createdAt,
    body,
  }));
  await app.prisma.comment.createMany({ data });
  return data.map(({ id }) => id);
}

const CREATE_POST =
  'mutation ($title: String!, $body: String!, $tags: [String!]) { createPost(title: $title, body: $body, tags: $tags) { id } }';

/** Creates a post through the API. Its id. */
export async function createPost(
  app: TestApp,
  key: string,
  {
    title = 'A post',
    body = 'Body.',
    tags = [],
  }: { readonly title?: string; readonly body?: string; readonly tags?: readonly string[] } = {},
): Promise<string> {
  const { data, errors } = await app.gql(CREATE_POST, { key, variables: { title, body, tags } });
  expect(errors).toBeUndefined();
  return data.createPost.id;
}

/** Comments on a post through the API. The comment's id. */
export async function createComment(
  app: TestApp,
  key: string,
  postId: string,
  body = 'A comment.',
): Promise<string> {
  const { data, errors } = await app.gql(
    'mutation ($postId: ID!, $body: String!) { createComment(postId: $postId, body: $body) { id } }',
    { key, variables: { postId, body } },
  );
  expect(errors).toBeUndefined();
  return data.createComment.id;
}
