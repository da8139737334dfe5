import type { Workload } from '../workloads.ts';

/** Stands where each request has a number of its own, of as many digits. */
export const MARK = '0000000000';

const PAGE_INFO = 'pageInfo { hasNextPage endCursor }';

/** Texts for the schema of the service. */
export const GRAPHQL: Readonly<Record<Workload, string>> = {
  W0: '{ __typename }',
  W1: 'query W1($id: ID!) { user(id: $id) { name posts(limit: 10) { title commentCount } } }',
  W2: '{ posts(limit: 20) { id title author { name } } }',
  W3: '{ posts(limit: 20) { title author { name posts(limit: 5) { title commentCount } } } }',
  W4: 'mutation W4($title: String!, $body: String!) { createPost(title: $title, body: $body) { id title } }',
  W5: `{ postsConnection(first: 20) { edges { cursor node { id title author { name } } } ${PAGE_INFO} } }`,
  W5l: '{ posts(limit: 20) { id title author { name } } }',
  W6: `{ postsConnection(first: 20) { edges { cursor node { id title author { name }
    commentsConnection(first: 3) { edges { cursor node { body author { name } } } ${PAGE_INFO} } } } ${PAGE_INFO} } }`,
  W6l: '{ posts(limit: 20) { id title author { name } comments(limit: 3) { body author { name } } } }',
  W7: 'mutation W7($title: String!, $body: String!) { createPost(title: $title, body: $body) { id title } }',
  W8a: `query Q${MARK} { posts(limit: 20) { id title author { name } } }`,
  W8b: `query Queries { posts(limit: 20) { id n${MARK}: title author { name } } }`,
  W9: `query Page($first: Int!, $after: String, $previews: Int!) {
  viewer {
    ...Person
    latest: posts(limit: 3) { id title }
  }
  feed: postsConnection(first: $first, after: $after) {
    edges { cursor node { ...Card } }
    ${PAGE_INFO}
  }
}
fragment Person on User { id name }
fragment Card on Post {
  id
  title
  tags
  createdAt
  commentCount
  author { ...Person }
  preview: comments(limit: $previews) { id body author { ...Person } }
}`,
};

const NEWEST_FIRST = 'orderBy: [CREATED_AT_DESC, ROW_ID_DESC]';
const OLDEST_FIRST = 'orderBy: [CREATED_AT_ASC, ROW_ID_ASC]';
const AUTHOR = 'author: userByAuthorId { name }';
const POSTS = `posts: allPostsList(first: 20, ${NEWEST_FIRST})`;
const CONNECTION = `postsConnection: allPosts(first: 20, ${NEWEST_FIRST})`;

/** The same data by the names that PostGraphile makes from the tables. It knows no keys of requests. */
export const POSTGRAPHILE: Readonly<Record<Exclude<Workload, 'W7'>, string>> = {
  W0: GRAPHQL.W0,
  W1: `query W1($id: UUID!) { user: userByRowId(rowId: $id) { name posts: postsByAuthorIdList(first: 10, ${NEWEST_FIRST}) { title commentCount } } }`,
  W2: `{ ${POSTS} { id: rowId title ${AUTHOR} } }`,
  W3: `{ ${POSTS} { title author: userByAuthorId { name posts: postsByAuthorIdList(first: 5, ${NEWEST_FIRST}) { title commentCount } } } }`,
  W4: `mutation W4($title: String!, $body: String!, $authorId: UUID!) {
    createPost(input: { post: { title: $title, body: $body, authorId: $authorId } }) { post { id: rowId title } } }`,
  W5: `{ ${CONNECTION} { edges { cursor node { id: rowId title ${AUTHOR} } } ${PAGE_INFO} } }`,
  W5l: `{ ${POSTS} { id: rowId title ${AUTHOR} } }`,
  W6: `{ ${CONNECTION} { edges { cursor node { id: rowId title ${AUTHOR}
    commentsConnection: commentsByPostId(first: 3, ${OLDEST_FIRST}) { edges { cursor node { body ${AUTHOR} } } ${PAGE_INFO} } } } ${PAGE_INFO} } }`,
  W6l: `{ ${POSTS} { id: rowId title ${AUTHOR} comments: commentsByPostIdList(first: 3, ${OLDEST_FIRST}) { body ${AUTHOR} } } }`,
  W8a: `query Q${MARK} { ${POSTS} { id: rowId title ${AUTHOR} } }`,
  W8b: `query Queries { ${POSTS} { id: rowId n${MARK}: title ${AUTHOR} } }`,
  W9: `query Page($authorId: UUID!, $first: Int!, $after: Cursor, $previews: Int!) {
  viewer: userByRowId(rowId: $authorId) {
    ...Person
    latest: postsByAuthorIdList(first: 3, ${NEWEST_FIRST}) { id: rowId title }
  }
  feed: allPosts(first: $first, after: $after, ${NEWEST_FIRST}) {
    edges { cursor node { ...Card } }
    ${PAGE_INFO}
  }
}
fragment Person on User { id: rowId name }
fragment Card on Post {
  id: rowId
  title
  tags: tagsByPostIdList(orderBy: PRIMARY_KEY_ASC) { name }
  createdAt
  commentCount
  author: userByAuthorId { ...Person }
  preview: commentsByPostIdList(first: $previews, ${OLDEST_FIRST}) { id: rowId body author: userByAuthorId { ...Person } }
}`,
};
