import type { ContentGraphError } from 'content-graph-client';
import { html, nothing, type TemplateResult } from 'lit-html';
import { describeError, failureNotice, pauseNotice } from '../parts/notice.ts';
import type { Edit } from './edit.ts';
import type { Task } from './task.ts';

export interface FieldOptions<Field extends string> {
  readonly task: Task<Field> | Edit<Field>;
  readonly name: Field;
  /** Of the control; the name of the field unless the page has several of that name. */
  readonly id?: string;
  readonly label: string;
  readonly hint?: string;
  /** Several lines. */
  readonly rows?: number;
}

const isInvalid = ({ code, argument = '' }: ContentGraphError, fields: readonly string[]) =>
  code === 'BAD_USER_INPUT' && fields.includes(argument);

/** What the service says of an argument, without its name: "must be 1 to 200 characters long, but has 0." */
function errorFor<Field extends string>(task: Task<Field>, name: Field, label: string): string | undefined {
  const { state } = task;
  if (state.kind !== 'failed' || !isInvalid(state.error, [name])) return undefined;
  return state.error.message.replace(/^Argument "\w+"/, label);
}

/** A text to read, which scrolls if it is long. */
export const quoted = (label: string, text: string): TemplateResult =>
  html`<div class="theirs" tabindex="0" role="region" aria-label=${label}>${text === '' ? html`<em>Nothing</em>` : text}</div>`;

/** What somebody else has made of a field that was changed here too. Both texts are there until one is chosen. */
function theirsFor<Field extends string>(
  edit: Edit<Field>,
  name: Field,
  label: string,
): TemplateResult | typeof nothing {
  const text = edit.theirs.get(name);
  if (text === undefined) return nothing;
  return html`<div class="conflict" role="group" aria-label="${label}: two versions">
    <p class="conflict-head"><strong>Saved version:</strong> yours is above and not saved.</p>
    ${quoted(`${label}, as saved`, text)}
    <div class="actions">
      <button type="button" class="small" @click=${() => edit.decide(name, 'mine')}>Keep mine</button>
      <button type="button" class="small" @click=${() => edit.decide(name, 'theirs')}>Use the saved one</button>
    </div>
  </div>`;
}

/** Says that the text in a form is not saved. */
export function unsavedNote<Field extends string>(task: Task<Field>): TemplateResult | typeof nothing {
  if (!task.isUnsaved || task.state.kind === 'sending') return nothing;
  return html`<p class="unsaved"><span class="unsaved-mark">Not saved</span> Your text is kept in this tab.
    <button type="button" class="small" @click=${task.discard}>Discard it</button></p>`;
}

/** A labelled field of a task. What the service says of its argument stands below it. */
export function field<Field extends string>(options: FieldOptions<Field>): TemplateResult {
  const { task, name, label, hint, rows, id = name } = options;
  const error = errorFor(task, name, label);
  const isBusy = task.state.kind === 'sending';
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || nothing;
  const onInput = ({ currentTarget }: Event) => {
    if (currentTarget instanceof HTMLInputElement || currentTarget instanceof HTMLTextAreaElement)
      task.set(name, currentTarget.value);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void task.submit();
  };
  const invalid = error === undefined ? nothing : 'true';
  const control =
    rows === undefined
      ? html`<input id=${id} name=${name} .value=${task.values[name]} autocomplete="off" ?readonly=${isBusy}
          aria-describedby=${describedBy} aria-invalid=${invalid} @input=${onInput} />`
      : html`<textarea id=${id} name=${name} rows=${rows} .value=${task.values[name]} ?readonly=${isBusy}
          aria-describedby=${describedBy} aria-invalid=${invalid} @input=${onInput} @keydown=${onKey}></textarea>`;
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${hint === undefined ? nothing : html`<p class="hint" id="${id}-hint">${hint}</p>`}
    ${control}
    ${'theirs' in task ? theirsFor(task, name, label) : nothing}
    ${error === undefined ? nothing : html`<p class="field-error" id="${id}-error">${error}</p>`}
  </div>`;
}

/** What became of the last attempt. What stands at a field is not said twice. */
export function outcome<Field extends string>(task: Task<Field>): TemplateResult | typeof nothing {
  const { state, values } = task;
  if (state.kind === 'sending') return state.pause === undefined ? nothing : pauseNotice(state.pause);
  if (state.kind !== 'failed') return nothing;
  const { error } = state;
  if (error.code === 'CONFLICT' && 'theirs' in task) return nothing;
  if (isInvalid(error, Object.keys(values)))
    return html`<p class="visually-hidden" role="alert">${error.message}</p>`;
  const isOpen = error.isOutcomeUnknown && error.code !== 'INTENT_EXPIRED';
  const advice = isOpen ? ' Your text is kept. If you send it again unchanged, it is saved only once.' : '';
  return failureNotice({ error }, undefined, describeError(error) + advice);
}

/** Moves the focus to the first field with an error. */
export function focusInvalid(form: ParentNode): void {
  form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
}
