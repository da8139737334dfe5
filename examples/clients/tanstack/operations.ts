import type { ResultOf } from 'gql.tada';
import { graphql } from '../gql-tada/graphql.ts';

const PostFields = graphql(`
  fragment PostFields on Post @_unmask {
    id title body createdAt version commentCount
    author { id name }
  }
`);

const CommentFields = graphql(`
  fragment CommentFields on Comment @_unmask {
    id body createdAt version
    author { id name }
  }
`);

export type Post = ResultOf<typeof PostFields>;
export type Comment = ResultOf<typeof CommentFields>;

export const Posts = graphql(
  `
    query PagePosts($first: Int!, $after: String) {
      postsConnection(first: $first, after: $after) {
        nodes { ...PostFields } pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [PostFields],
);

/** Pages backwards, because the newest comments are at the end. */
export const Comments = graphql(
  `
    query PageComments($id: ID!, $last: Int!, $before: String) {
      post(id: $id) {
        commentsConnection(last: $last, before: $before) {
          nodes { ...CommentFields } pageInfo { hasPreviousPage startCursor }
        }
      }
    }
  `,
  [CommentFields],
);

/** Selects everything that lists show, so that one stream serves all lists of all tabs. */
export const ChangesSubscription = graphql(
  `
    subscription PageChanges {
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
    mutation PageCreatePost($title: String!, $body: String!) {
      createPost(title: $title, body: $body) { ...PostFields }
    }
  `,
  [PostFields],
);

export const UpdatePost = graphql(
  `
    mutation PageUpdatePost($id: ID!, $ifVersion: Int!, $title: String, $body: String) {
      updatePost(id: $id, ifVersion: $ifVersion, title: $title, body: $body) { ...PostFields }
    }
  `,
  [PostFields],
);

export const DeletePost = graphql(`
  mutation PageDeletePost($id: ID!, $ifVersion: Int!) { deletePost(id: $id, ifVersion: $ifVersion) }
`);

export const CreateComment = graphql(
  `
    mutation PageCreateComment($postId: ID!, $body: String!) {
      createComment(postId: $postId, body: $body) { ...CommentFields post { ...PostFields } }
    }
  `,
  [CommentFields, PostFields],
);

export const DeleteComment = graphql(`
  mutation PageDeleteComment($id: ID!, $ifVersion: Int!) {
    deleteComment(id: $id, ifVersion: $ifVersion)
  }
`);
