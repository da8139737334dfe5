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

export const PostsQuery = graphql(
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

export const PostQuery = graphql(
  `
    query Post($id: ID!) {
      post(id: $id) { ...PostFields }
    }
  `,
  [PostFields],
);

/** Backwards: those who talk are at the end. */
export const CommentsQuery = graphql(
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
