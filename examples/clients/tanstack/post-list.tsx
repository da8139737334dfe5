import { useOnceMutation } from 'content-graph-client/tanstack';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Editor } from './editor.tsx';
import { usePosts } from './lists.ts';
import { useConnection } from './live-provider.tsx';
import { CreatePost, type Post } from './operations.ts';
import { PostItem } from './post-item.tsx';

function Composer(): ReactNode {
  const [text, setText] = useState({ title: '', body: '' });
  const create = useOnceMutation(useConnection().cache, CreatePost, 'write');
  const type = (typed: Partial<typeof text>) => {
    setText({ ...text, ...typed });
    // The error is about the previous input, whose key is kept.
    if (create.isError) create.reset();
  };
  const send = (event: FormEvent) => {
    event.preventDefault();
    // A second click while the mutation is pending.
    if (create.isPending) return;
    create.mutate(text, {
      onSuccess({ data: { createPost: post }, showChange }) {
        showChange({ postId: post.id, post, commentId: null, comment: null });
        setText({ title: '', body: '' });
      },
    });
  };
  return (
    <form onSubmit={send} aria-label="New post">
      <label>
        Title
        <input
          value={text.title}
          required
          readOnly={create.isPending}
          onChange={({ currentTarget }) => type({ title: currentTarget.value })}
        />
      </label>
      <label>
        Text
        <textarea
          value={text.body}
          required
          readOnly={create.isPending}
          onChange={({ currentTarget }) => type({ body: currentTarget.value })}
        />
      </label>
      {create.error !== null && <p role="alert">{create.error.message}</p>}
      <p>
        <button type="submit">{create.isPending ? 'Publishing …' : 'Publish'}</button>
      </p>
    </form>
  );
}

/** Calls `onSeen` when the element with the returned ref is about to be scrolled into view. */
function useSeen(onSeen: () => void) {
  const latest = useRef(onSeen);
  const target = useRef<HTMLDivElement>(null);
  useEffect(() => {
    latest.current = onSeen;
  });
  useEffect(() => {
    const look = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) latest.current();
      },
      { rootMargin: '400px' },
    );
    if (target.current !== null) look.observe(target.current);
    return () => look.disconnect();
  }, []);
  return target;
}

/** All posts, newest first. Reads the next page when the end of the list comes near. */
export function PostList(): ReactNode {
  const { data: posts, hasNextPage, isFetching, fetchNextPage, refetch, error } = usePosts();
  const [edited, setEdited] = useState<Post>();
  const left = useRef<string>(undefined);
  useEffect(() => {
    // Returns the focus to the edited post, unless the person has moved it.
    if (edited === undefined && document.activeElement === document.body)
      document.getElementById(`post-${left.current}`)?.focus();
    left.current = edited?.id;
  }, [edited]);
  const readOn = () => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  };
  const end = useSeen(readOn);
  return (
    <>
      {/* When hidden, it keeps its input. */}
      <div hidden={edited !== undefined}>
        <Composer />
      </div>
      {edited !== undefined && (
        <Editor
          opened={edited}
          post={posts?.find(({ id }) => id === edited.id)}
          onClose={() => setEdited(undefined)}
        />
      )}
      {error !== null && (
        <p role="alert">
          {error.message}{' '}
          <button type="button" onClick={() => void refetch()}>
            Try again
          </button>
        </p>
      )}
      <div role="feed" aria-busy={isFetching}>
        {posts?.map((post) => (
          <PostItem
            key={post.id}
            post={post}
            onEdit={edited === undefined ? () => setEdited(post) : undefined}
          />
        ))}
      </div>
      <div ref={end}>
        {hasNextPage && (
          <button type="button" disabled={isFetching} onClick={readOn}>
            More
          </button>
        )}
      </div>
    </>
  );
}
