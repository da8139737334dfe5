/** The part of the service's schema that the workloads ask for. */
export const SCHEMA = `
  type User { id: ID! name: String! posts(limit: Int = 20): [Post!]! }
  type Post {
    id: ID! title: String! author: User! commentCount: Int! createdAt: String! tags: [String!]!
    comments(limit: Int = 20): [Comment!]!
    commentsConnection(first: Int = 20, after: String): CommentConnection!
  }
  type Comment { id: ID! body: String! author: User! }
  type PageInfo { hasNextPage: Boolean! endCursor: String }
  type PostEdge { cursor: String! node: Post! }
  type PostConnection { edges: [PostEdge!]! pageInfo: PageInfo! }
  type CommentEdge { cursor: String! node: Comment! }
  type CommentConnection { edges: [CommentEdge!]! pageInfo: PageInfo! }
  type Query {
    viewer: User!
    user(id: ID!): User
    posts(limit: Int = 20): [Post!]!
    postsConnection(first: Int = 20, after: String): PostConnection!
  }
  type Mutation { createPost(title: String!, body: String!): Post! }
`;
