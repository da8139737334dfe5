import type { ResultOf } from 'gql.tada';
import { graphql } from './graphql.ts';

const PostFields = graphql(`
  fragment PostFields on Post @_unmask {
    id
    title
    body
    tags
    createdAt
    version
    commentCount
    author { id name }
  }
`);

const CommentFields = graphql(`
  fragment CommentFields on Comment @_unmask {
    id
    body
    createdAt
    version
    author { id name }
  }
`);

export type Post = ResultOf<typeof PostFields>;
export type Comment = ResultOf<typeof CommentFields>;

export const ViewerQuery = graphql(`
  query Viewer {
    viewer { role }
  }
`);

const PostsDocument = graphql(
  `
    query Posts($first: Int!, $after: String, $tag: String) {
      postsConnection(first: $first, after: $after, tag: $tag) {
        nodes { ...PostFields }
        pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [PostFields],
);

const PostDocument = graphql(
  `
    query Post($id: ID!) {
      post(id: $id) { ...PostFields }
    }
  `,
  [PostFields],
);

/** Backwards: those who talk are at the end. */
const CommentsDocument = graphql(
  `
    query Comments($id: ID!, $last: Int!, $before: String) {
      post(id: $id) {
        commentsConnection(last: $last, before: $before) {
          nodes { ...CommentFields }
          pageInfo { hasPreviousPage startCursor }
        }
      }
    }
  `,
  [CommentFields],
);

/**
 * What lists are read with, by the ids under which `npm run example` publishes it. An editor with gql.tada's plugin writes
 * them ("Insert document-id"), and the build refuses those that are not of their texts.
 */
export const PostsQuery = graphql.persisted(
  'sha256:72247c2233c120ae9e11f4c3bc74fa13942380c442315b6dffee401667e3ea93',
  PostsDocument,
);
export const PostQuery = graphql.persisted(
  'sha256:661b0b994f32323adb6eac1ef5c4ef41e7c9c078e8fb88ab82aaca785e95aa9b',
  PostDocument,
);
export const CommentsQuery = graphql.persisted(
  'sha256:093734c8a2c278292c018a23a39c1b9a35474b62895ff7196d9041a75f0dabac',
  CommentsDocument,
);

/** One stream for all lists of all tabs. */
export const ChangesSubscription = graphql(
  `
    subscription Changes {
      changes {
        postId
        post { ...PostFields }
        commentId
        comment { ...CommentFields }
      }
    }
  `,
  [PostFields, CommentFields],
);

export type Change = ResultOf<typeof ChangesSubscription>['changes'];

export const CreatePost = graphql(
  `
    mutation CreatePost($title: String!, $body: String!, $tags: [String!]) {
      createPost(title: $title, body: $body, tags: $tags) { ...PostFields }
    }
  `,
  [PostFields],
);

export const UpdatePost = graphql(
  `
    mutation UpdatePost($id: ID!, $ifVersion: Int!, $title: String, $body: String, $tags: [String!]) {
      updatePost(id: $id, ifVersion: $ifVersion, title: $title, body: $body, tags: $tags) { ...PostFields }
    }
  `,
  [PostFields],
);

export const DeletePost = graphql(`
  mutation DeletePost($id: ID!, $ifVersion: Int!) {
    deletePost(id: $id, ifVersion: $ifVersion)
  }
`);

export const CreateComment = graphql(
  `
    mutation CreateComment($postId: ID!, $body: String!) {
      createComment(postId: $postId, body: $body) { ...CommentFields post { ...PostFields } }
    }
  `,
  [CommentFields, PostFields],
);

export const UpdateComment = graphql(
  `
    mutation UpdateComment($id: ID!, $ifVersion: Int!, $body: String!) {
      updateComment(id: $id, ifVersion: $ifVersion, body: $body) { ...CommentFields post { ...PostFields } }
    }
  `,
  [CommentFields, PostFields],
);

export const DeleteComment = graphql(`
  mutation DeleteComment($id: ID!, $ifVersion: Int!) {
    deleteComment(id: $id, ifVersion: $ifVersion)
  }
`);
