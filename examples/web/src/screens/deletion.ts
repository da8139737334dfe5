import { html, type TemplateResult } from 'lit-html';
import { mutate } from '../api/client.ts';
import { DeletePost } from '../api/operations.ts';
import { outcome } from '../forms/fields.ts';
import { createTask } from '../forms/task.ts';
import { announce } from '../parts/announce.ts';
import type { Context } from './screen.ts';

/** A button that deletes a post once the user has confirmed it. */
export function createDeletion({ drafts, update, onSignedOut }: Context, id: string, onDeleted: () => void) {
  const task = createTask<never, boolean>({
    name: `deletion ${id}`,
    drafts,
    initial: {},
    send: async (_, key, onPause) => (await mutate(DeletePost, { id }, key, onPause)).deletePost,
    onDone() {
      announce('The post is deleted.');
      onDeleted();
    },
    onSignedOut,
    update,
  });

  const dialog = () => document.querySelector<HTMLDialogElement>('#delete-dialog');

  return {
    render: (): TemplateResult => html`
      <button type="button" class="danger" @click=${() => dialog()?.showModal()}>Delete</button>
      <dialog id="delete-dialog" aria-labelledby="delete-title">
        <h2 id="delete-title">Delete this post?</h2>
        <p class="dialog-text">Its comments are deleted too. You cannot undo this.</p>
        ${outcome(task)}
        <div class="actions">
          <button type="button" autofocus @click=${() => dialog()?.close()}>Keep it</button>
          <button type="button" class="danger" aria-busy=${task.state.kind === 'sending'} @click=${() => task.submit()}>
            ${task.state.kind === 'sending' ? 'Deleting…' : 'Delete post'}
          </button>
        </div>
      </dialog>`,
  };
}
