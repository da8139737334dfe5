import type { ResultOf } from 'gql.tada';
import { graphql } from './graphql.ts';

const PostSummaryFields = graphql(`
  fragment PostSummaryFields on Post @_unmask {
    id
    title
    tags
    createdAt
    commentCount
    author { id name }
  }
`);

const CommentFields = graphql(`
  fragment CommentFields on Comment @_unmask {
    id
    body
    createdAt
    author { id name }
  }
`);

export type PostSummary = ResultOf<typeof PostSummaryFields>;
export type Comment = ResultOf<typeof CommentFields>;

export const PostsQuery = graphql(
  `
    query Posts($first: Int!, $after: String, $tag: String) {
      postsConnection(first: $first, after: $after, tag: $tag) {
        nodes { ...PostSummaryFields }
        pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [PostSummaryFields],
);

export const PostQuery = graphql(
  `
    query Post($id: ID!, $first: Int!) {
      post(id: $id) {
        ...PostSummaryFields
        body
        commentsConnection(first: $first) {
          nodes { ...CommentFields }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  `,
  [PostSummaryFields, CommentFields],
);

export type Post = NonNullable<ResultOf<typeof PostQuery>['post']>;

export const CommentsQuery = graphql(
  `
    query Comments($id: ID!, $first: Int!, $after: String) {
      post(id: $id) {
        commentsConnection(first: $first, after: $after) {
          nodes { ...CommentFields }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  `,
  [CommentFields],
);

export const CreatePost = graphql(
  `
    mutation CreatePost($title: String!, $body: String!, $tags: [String!]) {
      createPost(title: $title, body: $body, tags: $tags) { ...PostSummaryFields }
    }
  `,
  [PostSummaryFields],
);

export const UpdatePost = graphql(
  `
    mutation UpdatePost($id: ID!, $title: String!, $body: String!, $tags: [String!]) {
      updatePost(id: $id, title: $title, body: $body, tags: $tags) { ...PostSummaryFields }
    }
  `,
  [PostSummaryFields],
);

export const DeletePost = graphql(`
  mutation DeletePost($id: ID!) {
    deletePost(id: $id)
  }
`);

export const CreateComment = graphql(
  `
    mutation CreateComment($postId: ID!, $body: String!) {
      createComment(postId: $postId, body: $body) { ...CommentFields }
    }
  `,
  [CommentFields],
);

export const PostCreated = graphql(
  `
    subscription PostCreated {
      postCreated { ...PostSummaryFields }
    }
  `,
  [PostSummaryFields],
);
