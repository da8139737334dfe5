import { html, type TemplateResult } from 'lit-html';
import type { Pause } from '../api/problem.ts';
import { outcome } from '../forms/fields.ts';
import { createTask } from '../forms/task.ts';
import { announce } from '../parts/announce.ts';
import type { Context } from './screen.ts';

export interface DeletionOptions {
  readonly id: string;
  readonly what: 'post' | 'comment';
  readonly hint: string;
  /** Deletes the version that the page shows. */
  readonly send: (idempotencyKey: string, onPause: (pause: Pause) => void) => Promise<boolean>;
  readonly onDeleted: () => void;
}

const VERBS = { post: 'Delete', comment: 'Remove' } as const;

/** A button that deletes something once the user has confirmed it. */
export function createDeletion(context: Context, { id, what, hint, send, onDeleted }: DeletionOptions) {
  const { drafts, update, onSignedOut } = context;
  const verb = VERBS[what];
  const task = createTask<never, boolean>({
    name: `deletion ${id}`,
    drafts,
    initial: {},
    send: (_, key, onPause) => send(key, onPause),
    onDone() {
      announce(`The ${what} is deleted.`);
      onDeleted();
    },
    onSignedOut,
    update,
  });

  const dialog = () => document.querySelector<HTMLDialogElement>(`[id="delete-${id}"]`);

  return {
    render: (): TemplateResult => html`
      <button type="button" class=${what === 'post' ? 'danger' : 'danger small'} @click=${() => dialog()?.showModal()}>${verb}</button>
      <dialog id="delete-${id}" aria-labelledby="delete-title-${id}">
        <h2 id="delete-title-${id}">${verb} this ${what}?</h2>
        <p class="dialog-text">${hint} You cannot undo this.</p>
        ${outcome(task)}
        <div class="actions">
          <button type="button" autofocus @click=${() => dialog()?.close()}>Keep it</button>
          <button type="button" class="danger" aria-busy=${task.state.kind === 'sending'} @click=${() => task.submit()}>
            ${task.state.kind === 'sending' ? 'Deleting…' : `${verb} ${what}`}
          </button>
        </div>
      </dialog>`,
  };
}
