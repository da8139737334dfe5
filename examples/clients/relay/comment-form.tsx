import { useClient } from 'content-graph-client/react';
import { createIntentConfig } from 'content-graph-client/relay';
import { type ReactNode, useRef, useState } from 'react';
import { commitMutation, graphql, useMutation } from 'react-relay';
import type { commentFormMutation } from './__generated__/commentFormMutation.graphql.ts';

/** The same text has the same key until it was sent, so a second click or a reload sends no second comment. */
export function CommentForm(props: { readonly postId: string; readonly connectionId: string }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState<string>();
  const cacheConfig = createIntentConfig(useClient().intent(`comment on ${props.postId}`));
  const [create, isCreating] = useMutation<commentFormMutation>(
    graphql`
      mutation commentFormMutation($postId: ID!, $body: String!, $connections: [ID!]!) {
        createComment(postId: $postId, body: $body)
          @appendNode(connections: $connections, edgeTypeName: "CommentEdge") {
          id
          body
          post {
            commentCount
          }
        }
      }
    `,
    (environment, config) => commitMutation<commentFormMutation>(environment, { ...config, cacheConfig }),
  );
  const send = () =>
    create({
      variables: {
        postId: props.postId,
        body: input.current?.value ?? '',
        connections: [props.connectionId],
      },
      onCompleted: (_, errors) => setProblem(errors?.[0]?.message),
      onError: ({ message }) => setProblem(message),
    });
  return (
    <p>
      <input ref={input} aria-label="Comment" />
      <button type="button" disabled={isCreating} onClick={send}>
        Send
      </button>
      {problem !== undefined && <strong role="alert">{problem}</strong>}
    </p>
  );
}
