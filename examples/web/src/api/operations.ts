import type { ResultOf } from 'gql.tada';
import { graphql } from './graphql.ts';

const AuthorFields = graphql(`
  fragment AuthorFields on User @_unmask { id name handle avatarUrl }
`);

/** Lists have the beginning of a post. */
const SummaryFields = graphql(
  `
    fragment SummaryFields on Post @_unmask {
      id slug title excerpt tags createdAt updatedAt version commentCount
      author { ...AuthorFields }
    }
  `,
  [AuthorFields],
);

const PostFields = graphql(
  `
    fragment PostFields on Post @_unmask {
      ...SummaryFields
      body
    }
  `,
  [SummaryFields],
);

const CommentFields = graphql(
  `
    fragment CommentFields on Comment @_unmask {
      id body createdAt version
      author { ...AuthorFields }
    }
  `,
  [AuthorFields],
);

const DraftSummaryFields = graphql(`
  fragment DraftSummaryFields on Draft @_unmask { id title tags updatedAt }
`);

const DraftFields = graphql(
  `
    fragment DraftFields on Draft @_unmask {
      ...DraftSummaryFields
      body version
    }
  `,
  [DraftSummaryFields],
);

const ProfileFields = graphql(
  `
    fragment ProfileFields on User @_unmask {
      ...AuthorFields
      bio
    }
  `,
  [AuthorFields],
);

export type Author = ResultOf<typeof AuthorFields>;
export type Summary = ResultOf<typeof SummaryFields>;
export type Post = ResultOf<typeof PostFields>;
export type Comment = ResultOf<typeof CommentFields>;
export type DraftSummary = ResultOf<typeof DraftSummaryFields>;
export type Draft = ResultOf<typeof DraftFields>;
export type Profile = ResultOf<typeof ProfileFields>;

export const ViewerQuery = graphql(`
  query Viewer { viewer { role } }
`);

const PostsDocument = graphql(
  `
    query Posts($first: Int!, $after: String, $tag: String, $filter: PostFilter, $orderBy: PostOrder) {
      postsConnection(first: $first, after: $after, tag: $tag, filter: $filter, orderBy: $orderBy) {
        nodes { ...SummaryFields } pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [SummaryFields],
);

/** A page can have fewer posts than requested although the list continues. */
export const SearchQuery = graphql(
  `
    query Search($query: String!, $filter: PostFilter, $first: Int!, $after: String) {
      searchPosts(query: $query, filter: $filter, first: $first, after: $after) {
        nodes { ...SummaryFields } pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [SummaryFields],
);

export const TagsQuery = graphql(`
  query Tags($after: String) {
    tags(first: 20, after: $after) {
      nodes { name postCount } pageInfo { hasNextPage endCursor }
    }
  }
`);

export type Tag = ResultOf<typeof TagsQuery>['tags']['nodes'][number];

/** Finds a post by its slug, a former slug or its id. */
const PostDocument = graphql(
  `
    query Post($slug: String!) { postBySlug(slug: $slug) { ...PostFields } }
  `,
  [PostFields],
);

/** A handle is never an id, so at most one of the fields finds the user. */
const ProfileDocument = graphql(
  `
    query Profile($handle: String!, $id: ID!) {
      userByHandle(handle: $handle) { ...ProfileFields }
      user(id: $id) { ...ProfileFields }
    }
  `,
  [ProfileFields],
);

/** Backwards: those who talk are at the end. */
const CommentsDocument = graphql(
  `
    query Comments($id: ID!, $last: Int!, $before: String) {
      post(id: $id) {
        commentsConnection(last: $last, before: $before) {
          nodes { ...CommentFields } pageInfo { hasPreviousPage startCursor }
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
  'sha256:1185bf766b033908cb544c1571be82a39050e3b7169c804984c0657aac24deac',
  PostsDocument,
);
export const PostQuery = graphql.persisted(
  'sha256:14732c2b4ab9be20ce828de14e9d2e95c2b44a4e2c216235bf0ff9da17969e45',
  PostDocument,
);
export const CommentsQuery = graphql.persisted(
  'sha256:5a23eea6466b9fc3ae8be7b533f2f31658615b5c6b07bdab54906243a1463757',
  CommentsDocument,
);

export const ProfileQuery = graphql.persisted(
  'sha256:bc872ea145485fc7660a944a1c3283958d77efea3e10bf0fad8d079043a76a3c',
  ProfileDocument,
);

export const DraftsQuery = graphql(
  `
    query Drafts($first: Int!, $after: String) {
      viewer {
        draftsConnection(first: $first, after: $after) {
          nodes { ...DraftSummaryFields } pageInfo { hasNextPage endCursor }
        }
      }
    }
  `,
  [DraftSummaryFields],
);

export const DraftQuery = graphql(
  `
    query Draft($id: ID!) { node(id: $id) { __typename ...DraftFields } }
  `,
  [DraftFields],
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
  mutation DeletePost($id: ID!, $ifVersion: Int!) { deletePost(id: $id, ifVersion: $ifVersion) }
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
  mutation DeleteComment($id: ID!, $ifVersion: Int!) { deleteComment(id: $id, ifVersion: $ifVersion) }
`);

export const CreateDraft = graphql(`
  mutation CreateDraft($title: String!, $body: String!, $tags: [String!]) {
    createDraft(title: $title, body: $body, tags: $tags) { id }
  }
`);

export const UpdateDraft = graphql(
  `
    mutation UpdateDraft($id: ID!, $ifVersion: Int!, $title: String, $body: String, $tags: [String!]) {
      updateDraft(id: $id, ifVersion: $ifVersion, title: $title, body: $body, tags: $tags) { ...DraftFields }
    }
  `,
  [DraftFields],
);

/** Saves the draft and publishes it: both or neither. */
export const PublishDraft = graphql(
  `
    mutation PublishDraft($id: ID!, $ifVersion: Int!, $title: String, $body: String, $tags: [String!]) {
      updateDraft(id: $id, ifVersion: $ifVersion, title: $title, body: $body, tags: $tags) { id }
      publishDraft(id: $id) { ...PostFields }
    }
  `,
  [PostFields],
);

export const DeleteDraft = graphql(`
  mutation DeleteDraft($id: ID!, $ifVersion: Int!) { deleteDraft(id: $id, ifVersion: $ifVersion) }
`);
