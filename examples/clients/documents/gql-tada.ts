import { graphql } from '../gql-tada/graphql.ts';

const Byline = graphql(`
  fragment postsByline on Post { createdAt author { name } }
`);

const WithTag = graphql(
  `
  query postsWithTagQuery($tag: String!) {
    posts(tag: $tag, limit: 10) { id title ...postsByline }
  }
`,
  [Byline],
);

const Create = graphql(`
  mutation postsCreateMutation($title: String!, $body: String!) {
    createPost(title: $title, body: $body, tags: ["by-id"]) { id title }
  }
`);

const Created = graphql(`
  subscription postsCreatedSubscription { postCreated { id title } }
`);

// An editor with gql.tada's plugin writes the ids ("Insert document-id"), again whenever a text has changed.
export const WITH_TAG = graphql.persisted<typeof WithTag>(
  'sha256:969da80f253fb2b8934659be448b1445036d3bfbffb5fddc83b5e825684a319c',
);
export const CREATE = graphql.persisted<typeof Create>(
  'sha256:7d420c7c180d5b59a6e94d1a4aab45db417ca61cf220a51b8939a547afd9e813',
);
export const CREATED = graphql.persisted<typeof Created>(
  'sha256:27afe6ded21ceaa6f5ae2bdcfce41d203bf52fe5abcea0a0ef3f70ed730c4223',
);
