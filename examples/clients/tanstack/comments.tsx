import { type FormEvent, type ReactNode, useState } from 'react';
import { useComments } from './lists.ts';
import { useConnection } from './live-provider.tsx';
import { type Comment, CreateComment, DeleteComment, type Post } from './operations.ts';
import { useOnce } from './use-once.ts';

function OneComment({ comment, post }: { readonly comment: Comment; readonly post: Post }): ReactNode {
  const { userId } = useConnection();
  // The stream brings the deletion.
  const remove = useOnce(DeleteComment, () => undefined);
  const mayRemove = comment.author.id === userId || post.author.id === userId;
  return (
    <li>
      <span>{comment.body}</span> <small>{comment.author.name}</small>
      {mayRemove && (
        <button
          type="button"
          aria-label={`Delete the comment “${comment.body}”`}
          disabled={remove.isPending}
          onClick={() => remove.mutate({ id: comment.id, ifVersion: comment.version })}
        >
          Delete
        </button>
      )}
      {remove.error !== null && <strong role="alert">{remove.error.message}</strong>}
    </li>
  );
}

/** The comments on a post, newest first. A comment is shown while it is sent, and sent once. */
export function CommentList({ post }: { readonly post: Post }): ReactNode {
  const { userId } = useConnection();
  const { data: comments, hasNextPage, isFetching, fetchNextPage, error } = useComments(post.id);
  const [text, setText] = useState('');
  const [before, setBefore] = useState<ReadonlySet<string>>(new Set());
  const create = useOnce(CreateComment, ({ createComment: { post: commented, ...comment } }, show) =>
    show({ postId: commented.id, post: commented, commentId: comment.id, comment }),
  );
  const sent = create.isPending || create.isError ? create.variables : undefined;
  // The stream may be faster than the answer.
  const isThere = comments?.some(
    ({ id, body, author }) => body === sent?.body && author.id === userId && !before.has(id),
  );
  const send = (event: FormEvent) => {
    event.preventDefault();
    // The stream has brought the one before: the same words are another comment.
    if (create.isError && isThere === true) create.forget();
    setBefore(new Set(comments?.map(({ id }) => id)));
    create.mutate({ postId: post.id, body: text });
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
                <button type="button" onClick={() => create.mutate(sent)}>
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
