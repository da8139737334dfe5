import { type ReactNode, useRef, useState } from 'react';
import { graphql, useMutation } from 'react-relay';
import type { commentFormMutation } from './__generated__/commentFormMutation.graphql.ts';
import { createKeyedCommit } from './environment.ts';

/** A comment that is sent again after a failure is created once. */
export function CommentForm(props: { readonly postId: string; readonly connectionId: string }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState<string>();
  const [commit] = useState(() => createKeyedCommit<commentFormMutation>());
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
    commit,
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
