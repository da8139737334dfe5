import { useOnceMutation } from 'content-graph-client/tanstack';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useConnection } from './live-provider.tsx';
import { findChangedFields, findConflicts, mergeFields, type Text } from './merge.ts';
import { type Post, UpdatePost } from './operations.ts';

export interface EditorProps {
  /** The current post. Undefined if it is no longer in the list. */
  readonly post: Post | undefined;
  /** The post when the editor was opened. */
  readonly opened: Post;
  readonly onClose: () => void;
}

/** If the page does not have the current post. */
const OPEN_AGAIN = 'Copy your text, cancel, and open the post again.';

/** Also scrolls, because the post may be far down in the list. */
const focus = (field: HTMLInputElement | null) => field?.focus();

/** Edits a post. Shows changes of other users, and overwrites them only if the user decides so. */
export function Editor({ post, opened, onClose }: EditorProps): ReactNode {
  const [{ base, mine }, set] = useState<{ readonly base: Post; readonly mine: Text }>({
    base: opened,
    mine: opened,
  });
  const update = useOnceMutation(useConnection().cache, UpdatePost, `edit ${opened.id}`);
  const theirs = post ?? base;
  const isBehind = theirs.version > base.version;
  const conflicts = isBehind ? findConflicts(base, mine, theirs) : [];
  // Without a conflict, fields are merged immediately (react.dev: adjusting state while rendering).
  if (isBehind && conflicts.length === 0) set({ base: theirs, mine: mergeFields(base, mine, theirs) });

  const type = (text: Partial<Text>) => set({ base, mine: { ...mine, ...text } });
  const save = (event: FormEvent) => {
    event.preventDefault();
    const fields = findChangedFields(base, mine);
    if (Object.keys(fields).length === 0) return onClose();
    update.mutate(
      { id: base.id, ifVersion: base.version, ...fields },
      {
        onSuccess({ data: { updatePost: post }, showChange }) {
          showChange({ postId: post.id, post, commentId: null, comment: null });
          onClose();
        },
      },
    );
  };
  return (
    <form onSubmit={save} aria-label={`Edit ${opened.title}`}>
      {post === undefined && (
        <p role="alert">
          This post is no longer in the list, so it may have been deleted. Your text is still here.
        </p>
      )}
      <label>
        Title
        <input
          ref={focus}
          value={mine.title}
          required
          readOnly={update.isPending}
          onChange={({ currentTarget }) => type({ title: currentTarget.value })}
        />
      </label>
      <label>
        Text
        <textarea
          value={mine.body}
          required
          readOnly={update.isPending}
          onChange={({ currentTarget }) => type({ body: currentTarget.value })}
        />
      </label>
      {conflicts.length > 0 && (
        <div role="alert">
          <p>Another user has changed this post to:</p>
          {conflicts.map((field) => (
            <div key={field}>
              <small>{field === 'title' ? 'Title' : 'Text'}</small>
              <blockquote>{theirs[field]}</blockquote>
            </div>
          ))}
          <p>
            <button
              type="button"
              onClick={() => {
                const taken = Object.fromEntries(conflicts.map((field) => [field, theirs[field]]));
                set({ base: theirs, mine: { ...mergeFields(base, mine, theirs), ...taken } });
              }}
            >
              Take theirs
            </button>
            <button
              type="button"
              onClick={() => set({ base: theirs, mine: mergeFields(base, mine, theirs) })}
            >
              Keep mine
            </button>
          </p>
        </div>
      )}
      {update.error !== null && conflicts.length === 0 && (
        <p role="alert">
          {update.error.code === 'CONFLICT'
            ? `Not saved, because another user has changed this post. ${post === undefined ? OPEN_AGAIN : 'Look at it, then save again.'}`
            : update.error.message}
        </p>
      )}
      <p>
        <button type="submit" disabled={update.isPending || conflicts.length > 0}>
          Save
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  );
}
