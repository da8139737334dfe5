import { type ReactNode, useState } from 'react';
import { CommentList } from './comments.tsx';
import { useConnection } from './live-provider.tsx';
import { DeletePost, type Post } from './operations.ts';
import { codeOf, useOnce } from './use-once.ts';

export interface PostItemProps {
  readonly post: Post;
  /** Undefined while another post is edited: one text at a time. */
  readonly onEdit: (() => void) | undefined;
}

export function PostItem({ post, onEdit }: PostItemProps): ReactNode {
  const { userId } = useConnection();
  const [isOpen, setOpen] = useState(false);
  const [wasOpened, setOpened] = useState(false);
  const fold = () => {
    setOpen(!isOpen);
    setOpened(true);
  };
  const remove = useOnce(DeletePost, (_, show) =>
    show({ postId: post.id, post: null, commentId: null, comment: null }),
  );
  const count = post.commentCount === 1 ? '1 comment' : `${post.commentCount} comments`;
  return (
    <article id={`post-${post.id}`} tabIndex={-1} aria-label={post.title}>
      <h2>{post.title}</h2>
      <p>{post.body}</p>
      <footer>
        <small>{post.author.name}</small>
        <button type="button" aria-expanded={isOpen} onClick={fold}>
          {count}
        </button>
        {post.author.id === userId && (
          <>
            <button type="button" disabled={onEdit === undefined} onClick={onEdit}>
              Edit
            </button>
            <button
              type="button"
              disabled={remove.isPending}
              onClick={() => remove.mutate({ id: post.id, ifVersion: post.version })}
            >
              Delete
            </button>
          </>
        )}
      </footer>
      {remove.error !== null && (
        <p role="alert">
          {codeOf(remove.error) === 'CONFLICT'
            ? 'Not deleted: somebody has changed it. Look at it, then delete it again.'
            : remove.error.message}
        </p>
      )}
      {/* Folded, it keeps what is typed, and sends what is on its way. */}
      {wasOpened && (
        <div hidden={!isOpen}>
          <CommentList post={post} />
        </div>
      )}
    </article>
  );
}
