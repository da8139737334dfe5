import type { ReactNode } from 'react';
import { graphql, useFragment } from 'react-relay';
import type { postTitleFragment$key } from './__generated__/postTitleFragment.graphql.ts';

export function PostTitle({ post }: { readonly post: postTitleFragment$key }): ReactNode {
  const { title } = useFragment(
    graphql`
      fragment postTitleFragment on Post {
        title
      }
    `,
    post,
  );
  return <li>{title}</li>;
}
