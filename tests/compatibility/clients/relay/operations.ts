/** The operations that Relay's compiler finds here. The tests import what the compiler has written. */
import { graphql } from 'relay-runtime';

export const newest = graphql`
  query operationsNewestQuery($limit: Int!) {
    posts(limit: $limit) {
      id
      title
    }
  }
`;

export const page = graphql`
  query operationsPageQuery($first: Int!, $after: String) {
    postsConnection(first: $first, after: $after) @connection(key: "operations_postsConnection") {
      edges {
        node {
          id
          title
        }
      }
    }
  }
`;

export const create = graphql`
  mutation operationsCreateMutation($title: String!) {
    createPost(title: $title, body: "Body") {
      id
      title
    }
  }
`;

export const created = graphql`
  subscription operationsCreatedSubscription {
    postCreated {
      id
      title
    }
  }
`;
