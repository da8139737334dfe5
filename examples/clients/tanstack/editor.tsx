import { type FormEvent, type ReactNode, useState } from 'react';
import { changedFields, conflictsOf, merged, type Text } from './merge.ts';
import { type Post, UpdatePost } from './operations.ts';
import { codeOf, useOnce } from './use-once.ts';

export interface EditorProps {
  /** As it is now; undefined where the list has it no more. */
  readonly post: Post | undefined;
  /** As it was when the editor was opened. */
  readonly opened: Post;
  readonly onClose: () => void;
}

/** Where the page does not have what others have made of it. */
const AGAIN = 'Copy your text, cancel, and open the post again.';

/** Scrolls to it, too: the post may be far down a list. */
const focus = (field: HTMLInputElement | null) => field?.focus();

/** Changes a post. What others change meanwhile is seen here, and is never replaced unseen. */
export function Editor({ post, opened, onClose }: EditorProps): ReactNode {
  const [{ base, mine }, set] = useState<{ readonly base: Post; readonly mine: Text }>({
    base: opened,
    mine: opened,
  });
  const update = useOnce(UpdatePost, ({ updatePost }, show) => {
    show({ postId: updatePost.id, post: updatePost, commentId: null, comment: null });
    onClose();
  });
  const theirs = post ?? base;
  const isBehind = theirs.version > base.version;
  const conflicts = isBehind ? conflictsOf(base, mine, theirs) : [];
  // What nobody has to decide about is taken over at once (react.dev: adjusting state while rendering).
  if (isBehind && conflicts.length === 0) set({ base: theirs, mine: merged(base, mine, theirs) });

  const type = (text: Partial<Text>) => set({ base, mine: { ...mine, ...text } });
  const save = (event: FormEvent) => {
    event.preventDefault();
    const fields = changedFields(base, mine);
    if (Object.keys(fields).length === 0) return onClose();
    update.mutate({ id: base.id, ifVersion: base.version, ...fields });
  };
  return (
    <form onSubmit={save} aria-label={`Edit ${opened.title}`}>
      {post === undefined && (
        <p role="alert">
          This post is not in the list any more: it may have been deleted. Your text is still here.
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
          <p>Somebody has changed this post meanwhile, to:</p>
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
                set({ base: theirs, mine: { ...merged(base, mine, theirs), ...taken } });
              }}
            >
              Take theirs
            </button>
            <button type="button" onClick={() => set({ base: theirs, mine: merged(base, mine, theirs) })}>
              Keep mine
            </button>
          </p>
        </div>
      )}
      {update.error !== null && conflicts.length === 0 && (
        <p role="alert">
          {codeOf(update.error) === 'CONFLICT'
            ? `Not saved: somebody has changed this post. ${post === undefined ? AGAIN : 'Look at it, then save again.'}`
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
