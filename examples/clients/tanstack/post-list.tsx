import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Editor } from './editor.tsx';
import { usePosts } from './lists.ts';
import { CreatePost, type Post } from './operations.ts';
import { PostItem } from './post-item.tsx';
import { useOnce } from './use-once.ts';

function Composer(): ReactNode {
  const [text, setText] = useState({ title: '', body: '' });
  const create = useOnce(CreatePost, ({ createPost }, show) => {
    show({ postId: createPost.id, post: createPost, commentId: null, comment: null });
    setText({ title: '', body: '' });
  });
  const type = (typed: Partial<typeof text>) => {
    setText({ ...text, ...typed });
    // What it says is of the text before. The key for that is kept.
    if (create.isError) create.reset();
  };
  const send = (event: FormEvent) => {
    event.preventDefault();
    // A second click while the first is on its way.
    if (!create.isPending) create.mutate(text);
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

/** Calls `onSeen` when what it is given to is about to be scrolled into view. */
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

/** All posts, newest first, the next page whenever the end comes near. */
export function PostList(): ReactNode {
  const { data: posts, hasNextPage, isFetching, fetchNextPage, error } = usePosts();
  const [edited, setEdited] = useState<Post>();
  const left = useRef<string>(undefined);
  useEffect(() => {
    // Back to where it was begun, unless the person has moved on.
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
      {/* It keeps what is typed. */}
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
      {error !== null && <p role="alert">{error.message}</p>}
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
