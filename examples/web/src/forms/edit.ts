import type { MutateOptions } from 'content-graph-client';
import type { Basis } from './drafts.ts';
import { createTask, type Task, type TaskContext, type TaskOptions } from './task.ts';

type Values<Field extends string> = Readonly<Record<Field, string>>;

export interface Stored<Field extends string> extends Basis {
  readonly values: Values<Field>;
}

export interface EditOptions<Field extends string, Result>
  extends Omit<TaskOptions<Field, Result>, 'send' | 'initial' | 'basis'> {
  /** What is stored now. */
  readonly stored: Stored<Field>;
  /** Sends the fields that were changed. Rejected with `CONFLICT` where the version is another. */
  readonly send: (
    fields: Partial<Values<Field>>,
    ifVersion: number,
    options: MutateOptions,
  ) => Promise<Result>;
  /** Nothing was changed. */
  readonly onUnchanged: () => void;
  /** The service has another version: `rebase` with it. */
  readonly onConflict: () => void;
}

export interface Edit<Field extends string> extends Task<Field> {
  /** What others have made of fields that were changed here too, until the person has decided. */
  readonly theirs: ReadonlyMap<Field, string>;
  /** Takes what is stored by now. Fields that were not changed here follow; for the others the person decides. */
  rebase(stored: Stored<Field>): void;
  /** Decides about a field: theirs stays, or what stands here replaces it. */
  decide(field: Field, which: 'theirs' | 'mine'): void;
}

/** A change of something that others may change too. Nobody's text is replaced by somebody who has not seen it. */
export function createEdit<Field extends string, Result>(
  context: TaskContext,
  { stored, send, onUnchanged, onConflict, ...options }: EditOptions<Field, Result>,
): Edit<Field> {
  const draft = context.drafts.read(options.name)?.basis;
  /** What the text here began from, with all that was decided about since. */
  let settled: Stored<Field> = { version: stored.version, values: { ...stored.values, ...draft?.values } };
  if (draft !== undefined) settled = { ...settled, version: draft.version };
  let latest = stored;
  const theirs = new Map<Field, string>();
  const fields = Object.keys(stored.values) as Field[];

  const task = createTask<Field, Result>(context, {
    ...options,
    initial: stored.values,
    basis: () => settled,
    send(values, callOptions) {
      const changed = fields.filter((field) => values[field] !== settled.values[field]);
      const sent = Object.fromEntries(changed.map((field) => [field, values[field]]));
      return send(sent as Partial<Values<Field>>, settled.version, callOptions);
    },
  });

  /** What is decided about has this value in what is stored now. */
  function settle(values: Partial<Values<Field>>): void {
    settled = theirs.size === 0 ? latest : { ...settled, values: { ...settled.values, ...values } };
    // Saves the draft with what it is compared with now.
    for (const field of fields.slice(0, 1)) task.set(field, task.values[field]);
  }

  function rebase(next: Stored<Field>): void {
    if (next.version < latest.version || next.version <= settled.version) return;
    latest = next;
    const { values } = task;
    const isMine = (field: Field) => values[field] !== settled.values[field];
    const isTheirs = (field: Field) => next.values[field] !== settled.values[field];
    const mine = fields.filter(isMine);
    theirs.clear();
    for (const field of mine)
      if (isTheirs(field) && next.values[field] !== values[field]) theirs.set(field, next.values[field]);
    const agreed = fields.filter((field) => !theirs.has(field));
    settle(Object.fromEntries(agreed.map((field) => [field, next.values[field]])) as Partial<Values<Field>>);
    for (const field of fields) if (!mine.includes(field)) task.set(field, next.values[field]);
    context.update();
  }

  const edit: Edit<Field> = {
    get values() {
      return task.values;
    },
    get state() {
      return task.state;
    },
    get isDraft() {
      return task.isDraft;
    },
    theirs,
    set: task.set,
    rebase,
    decide(field, which) {
      const text = theirs.get(field) ?? settled.values[field];
      theirs.delete(field);
      settle({ [field]: text } as Partial<Values<Field>>);
      if (which === 'theirs') task.set(field, text);
    },
    async submit() {
      // What others have written is decided about first.
      if (theirs.size > 0) return;
      if (!task.isDraft) {
        task.discard();
        return onUnchanged();
      }
      await task.submit();
      if (task.state.kind === 'failed' && task.state.error.code === 'CONFLICT') onConflict();
    },
    discard() {
      theirs.clear();
      settled = latest;
      task.discard();
    },
  };
  rebase(stored);
  return edit;
}
