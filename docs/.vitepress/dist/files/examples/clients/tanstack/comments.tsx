import { useOnceMutation } from 'content-graph-client/tanstack';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useComments } from './lists.ts';
import { useConnection } from './live-provider.tsx';
import { type Comment, CreateComment, DeleteComment, type Post } from './operations.ts';

function OneComment({ comment, post }: { readonly comment: Comment; readonly post: Post }): ReactNode {
  const { cache, user } = useConnection();
  // The stream brings the deletion.
  const deletion = useOnceMutation(cache, DeleteComment, `delete ${comment.id}`);
  const mayDelete = comment.author.id === user.id || post.author.id === user.id;
  return (
    <li>
      <span>{comment.body}</span> <small>{comment.author.name}</small>
      {mayDelete && (
        <button
          type="button"
          aria-label={`Delete the comment “${comment.body}”`}
          disabled={deletion.isPending}
          onClick={() => deletion.mutate({ id: comment.id, ifVersion: comment.version })}
        >
          Delete
        </button>
      )}
      {deletion.error !== null && <strong role="alert">{deletion.error.message}</strong>}
    </li>
  );
}

/** The comments on a post, newest first. Shows a comment while it is sent, and sends it once. */
export function CommentList({ post }: { readonly post: Post }): ReactNode {
  const { cache, user } = useConnection();
  const { data: comments, hasNextPage, isFetching, fetchNextPage, error } = useComments(post.id);
  const [text, setText] = useState('');
  const [before, setBefore] = useState<ReadonlySet<string>>(new Set());
  const create = useOnceMutation(cache, CreateComment, `comment on ${post.id}`);
  const createComment = (variables: { readonly postId: string; readonly body: string }) =>
    create.mutate(variables, {
      onSuccess({
        data: {
          createComment: { post: commented, ...comment },
        },
        showChange,
      }) {
        showChange({ postId: commented.id, post: commented, commentId: comment.id, comment });
      },
    });
  const sent = create.isPending || create.isError ? create.variables : undefined;
  // The stream may be faster than the response.
  const isThere = comments?.some(
    ({ id, body, author }) => body === sent?.body && author.id === user.id && !before.has(id),
  );
  const send = (event: FormEvent) => {
    event.preventDefault();
    // The stream has brought the previous comment, so an equal text is another comment.
    if (create.isError && isThere === true) create.discard();
    setBefore(new Set(comments?.map(({ id }) => id)));
    createComment({ postId: post.id, body: text });
    setText('');
  };
  return (
    <section aria-label={`Comments on ${post.title}`}>
      <form onSubmit={send}>
        <input
          aria-label="Comment"
          value={text}
          required
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        <button type="submit" disabled={create.isPending || (create.isError && isThere !== true)}>
          Send
        </button>
      </form>
      {error !== null && <p role="alert">{error.message}</p>}
      <ul aria-busy={isFetching}>
        {sent !== undefined && isThere !== true && (
          <li aria-busy={create.isPending}>
            <span>{sent.body}</span> <small>{create.isPending ? 'Sending …' : 'Not confirmed'}</small>
            {create.error !== null && (
              <>
                <strong role="alert">{create.error.message}</strong>
                <button type="button" onClick={() => createComment(sent)}>
                  Try again
                </button>
                <button type="button" onClick={create.reset}>
                  Discard
                </button>
              </>
            )}
          </li>
        )}
        {comments?.map((comment) => (
          <OneComment key={comment.id} comment={comment} post={post} />
        ))}
      </ul>
      {hasNextPage && (
        <button type="button" disabled={isFetching} onClick={() => void fetchNextPage()}>
          Earlier comments
        </button>
      )}
    </section>
  );
}
