import type { MutateOptions } from 'content-graph-client';
import { html, type TemplateResult } from 'lit-html';
import { outcome } from '../forms/fields.ts';
import { createTask } from '../forms/task.ts';
import { announce } from '../parts/announce.ts';
import type { Context } from './screen.ts';

export interface DeletionOptions<Result> {
  readonly id: string;
  readonly what: 'post' | 'comment' | 'draft';
  readonly hint: string;
  /** Deletes the version that the page shows. */
  readonly send: (options: MutateOptions) => Promise<Result>;
  readonly onDeleted: (result: Result) => void;
  /** Reads it again: if it has changed, the user sees that before deleting it. */
  readonly refresh: () => Promise<void>;
}

const VERBS = { post: 'Delete', draft: 'Delete', comment: 'Remove' } as const;

/** A button that deletes something once the user has confirmed it. */
export function createDeletion<Result>(
  context: Context,
  { id, what, hint, send, onDeleted, refresh }: DeletionOptions<Result>,
) {
  const verb = VERBS[what];
  const task = createTask<never, Result>(context, {
    name: `deletion ${id}`,
    initial: {},
    send: (_, options) => send(options),
    onDone(result) {
      announce(`The ${what} is deleted.`);
      onDeleted(result);
    },
  });

  async function submit(): Promise<void> {
    await task.submit();
    if (task.state.kind === 'failed') await refresh();
  }

  const dialog = () => document.querySelector<HTMLDialogElement>(`[id="delete-${id}"]`);

  return {
    render: (): TemplateResult => html`
      <button type="button" class=${what === 'comment' ? 'danger small' : 'danger'} @click=${() => dialog()?.showModal()}>${verb}</button>
      <dialog id="delete-${id}" aria-labelledby="delete-title-${id}">
        <h2 id="delete-title-${id}">${verb} this ${what}?</h2>
        <p class="dialog-text">${hint} You cannot undo this.</p>
        ${outcome(task)}
        <div class="actions">
          <button type="button" autofocus @click=${() => dialog()?.close()}>Keep it</button>
          <button type="button" class="danger" aria-busy=${task.state.kind === 'sending'} @click=${submit}>
            ${task.state.kind === 'sending' ? 'Deleting…' : `${verb} ${what}`}
          </button>
        </div>
      </dialog>`,
  };
}
