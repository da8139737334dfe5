import type { ResultOf } from 'gql.tada';
import { html, nothing, type TemplateResult } from 'lit-html';
import { type Comment, DeleteComment, UpdateComment } from '../api/operations.ts';
import { createEdit, type Edit } from '../forms/edit.ts';
import { field, focusInvalid, outcome, unsavedNote } from '../forms/fields.ts';
import { announce } from '../parts/announce.ts';
import { avatar, byline } from '../parts/byline.ts';
import { createDeletion } from './deletion.ts';
import type { Context, Mutated } from './screen.ts';

export interface CommentOptions {
  readonly comment: Comment;
  readonly postId: string;
  readonly postAuthor: () => string | undefined;
  /** Reads the comments again. */
  readonly refresh: () => Promise<void>;
}

/** The names under which the changed comments on a post are kept begin so; the id of a comment follows. */
export const unsavedOn = (postId: string) => `comment on ${postId} `;

const storedOf = ({ version, body }: Comment) => ({ version, values: { body } });

/** One comment, and the form in which it is changed. */
export function createCommentItem(
  context: Context,
  { comment, postId, postAuthor, refresh }: CommentOptions,
) {
  const { user, unsaved, mutate, mayChange, update } = context;
  const { id } = comment;
  const name = `${unsavedOn(postId)}${id}`;
  let current = comment;
  let edit: Edit<'body'> | undefined;

  const deletion = createDeletion(context, {
    id,
    what: 'comment',
    hint: '',
    send: (options) => mutate(DeleteComment, { id, ifVersion: current.version }, options),
    onDeleted: () => void refresh(),
    refresh,
  });

  function begin(): void {
    edit = createEdit<'body', Mutated<ResultOf<typeof UpdateComment>>>(context, {
      name,
      stored: storedOf(current),
      send: ({ body = current.body }, ifVersion, options) =>
        mutate(UpdateComment, { id, ifVersion, body }, options),
      onDone({ data, show }) {
        announce('Your changes are saved.');
        edit = undefined;
        const { post, ...next } = data.updateComment;
        show({ postId, post, commentId: id, comment: next });
      },
      onUnchanged: () => end(),
      onConflict: () => void refresh(),
    });
    void update();
  }

  function end(): void {
    edit?.discard();
    edit = undefined;
  }

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget;
    await edit?.submit();
    if (form instanceof HTMLFormElement && form.isConnected) focusInvalid(form);
  }

  const actions = () => {
    const canEdit = current.author.id === user.id || mayChange(current.author.id);
    const canRemove = canEdit || postAuthor() === user.id;
    if (!canRemove) return nothing;
    return html`<div class="comment-actions">
      ${canEdit ? html`<button type="button" class="small" @click=${begin}>Edit</button>` : nothing}
      ${deletion.render()}
    </div>`;
  };

  const form = (of: Edit<'body'>) => html`<form class="comment-edit" novalidate @submit=${submit}>
    ${field({ task: of, name: 'body', id: `edit-${id}`, label: 'Edit comment', rows: 3 })}
    ${unsavedNote(of)} ${outcome(of)}
    <div class="actions">
      <button class="primary small" ?disabled=${of.theirs.size > 0} aria-busy=${of.state.kind === 'sending'}>
        ${of.state.kind === 'sending' ? 'Saving…' : 'Save'}
      </button>
      <button type="button" class="small" @click=${end}>Cancel</button>
    </div>
  </form>`;

  if (unsaved.read(name) !== undefined) begin();
  return {
    show(next: Comment): void {
      current = next;
      edit?.rebase(storedOf(next));
    },
    render(): TemplateResult {
      return html`<li id="comment-${id}" class="comment" tabindex="-1">
        ${avatar(current.author)}
        <div class="row-text">
          <p class="meta">${byline(current.author, current.createdAt)}
            ${current.version === 1 ? nothing : html`<span class="dot" aria-hidden="true">·</span> edited`}</p>
          ${edit === undefined ? html`<p class="comment-body">${current.body}</p>${actions()}` : form(edit)}
        </div>
      </li>`;
    },
  };
}
