import { commitMutation, fetchQuery, graphql, type IEnvironment, requestSubscription } from 'relay-runtime';
import type { postsCreatedSubscription } from './__generated__/postsCreatedSubscription.graphql.ts';
import type { postsCreateMutation } from './__generated__/postsCreateMutation.graphql.ts';
import type { postsWithTagQuery } from './__generated__/postsWithTagQuery.graphql.ts';

export const BYLINE = graphql`
  fragment postsByline on Post {
    createdAt
    author {
      name
    }
  }
`;

/** The newest posts with a tag. */
export async function postsWithTag(
  environment: IEnvironment,
  tag: string,
): Promise<postsWithTagQuery['response']['posts']> {
  const query = graphql`
    query postsWithTagQuery($tag: String!) {
      posts(tag: $tag, limit: 10) {
        id
        title
        ...postsByline
      }
    }
  `;
  const data = await fetchQuery<postsWithTagQuery>(environment, query, { tag }).toPromise();
  return data?.posts ?? [];
}

export function createPost(
  environment: IEnvironment,
  variables: postsCreateMutation['variables'],
): Promise<postsCreateMutation['response']> {
  const mutation = graphql`
    mutation postsCreateMutation($title: String!, $body: String!) {
      createPost(title: $title, body: $body, tags: ["by-id"]) {
        id
        title
      }
    }
  `;
  return new Promise((onCompleted, onError) => {
    commitMutation<postsCreateMutation>(environment, { mutation, variables, onCompleted, onError });
  });
}

/** Tells of each new post until it is stopped. */
export function followPosts(environment: IEnvironment, onTitle: (title: string) => void): () => void {
  const subscription = graphql`
    subscription postsCreatedSubscription {
      postCreated {
        id
        title
      }
    }
  `;
  const { dispose } = requestSubscription<postsCreatedSubscription>(environment, {
    subscription,
    variables: {},
    onNext: (data) => {
      if (data != null) onTitle(data.postCreated.title);
    },
  });
  return dispose;
}
