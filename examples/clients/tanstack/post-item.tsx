import { useOnceMutation } from 'content-graph-client/tanstack';
import { type ReactNode, useState } from 'react';
import { CommentList } from './comments.tsx';
import { useConnection } from './live-provider.tsx';
import { DeletePost, type Post } from './operations.ts';

export interface PostItemProps {
  readonly post: Post;
  /** Undefined while another post is edited. */
  readonly onEdit: (() => void) | undefined;
}

export function PostItem({ post, onEdit }: PostItemProps): ReactNode {
  const { cache, user } = useConnection();
  const [isOpen, setOpen] = useState(false);
  const [wasOpened, setOpened] = useState(false);
  const fold = () => {
    setOpen(!isOpen);
    setOpened(true);
  };
  const deletion = useOnceMutation(cache, DeletePost, `delete ${post.id}`);
  const deletePost = () =>
    deletion.mutate(
      { id: post.id, ifVersion: post.version },
      {
        onSuccess: ({ showChange }) =>
          showChange({ postId: post.id, post: null, commentId: null, comment: null }),
      },
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
        {post.author.id === user.id && (
          <>
            <button type="button" disabled={onEdit === undefined} onClick={onEdit}>
              Edit
            </button>
            <button type="button" disabled={deletion.isPending} onClick={deletePost}>
              Delete
            </button>
          </>
        )}
      </footer>
      {deletion.error !== null && (
        <p role="alert">
          {deletion.error.code === 'CONFLICT'
            ? 'Not deleted, because another user has changed this post. Look at it, then delete it again.'
            : deletion.error.message}
        </p>
      )}
      {/* When folded, it keeps its input and pending mutations. */}
      {wasOpened && (
        <div hidden={!isOpen}>
          <CommentList post={post} />
        </div>
      )}
    </article>
  );
}
