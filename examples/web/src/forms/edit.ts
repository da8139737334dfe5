import type { MutateOptions } from 'content-graph-client';
import {
  createTask,
  type Task,
  type TaskAction,
  type TaskButton,
  type TaskContext,
  type TaskOptions,
} from './task.ts';
import type { Basis } from './unsaved.ts';

type Values<Field extends string> = Readonly<Record<Field, string>>;

export interface Stored<Field extends string> extends Basis {
  readonly values: Values<Field>;
}

export interface EditAction<Field extends string, Result> extends Omit<TaskAction<Field, Result>, 'send'> {
  /** Sends the fields that were changed. Rejected with `CONFLICT` where the version is another. */
  readonly send: (
    fields: Partial<Values<Field>>,
    ifVersion: number,
    options: MutateOptions,
  ) => Promise<Result>;
}

export interface EditOptions<Field extends string, Result, OtherResult>
  extends EditAction<Field, Result>,
    Pick<TaskOptions<Field, Result, OtherResult>, 'name'> {
  /** What is stored now. */
  readonly stored: Stored<Field>;
  /** What the second button does, if there is one. It acts without a change, too. */
  readonly other?: EditAction<Field, OtherResult>;
  /** Nothing was changed. */
  readonly onUnchanged: () => void;
  /** The service has another version: `rebase` with it. */
  readonly onConflict: (button: TaskButton) => void;
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
export function createEdit<Field extends string, Result, OtherResult = never>(
  context: TaskContext,
  { name, stored, other, onUnchanged, onConflict, ...main }: EditOptions<Field, Result, OtherResult>,
): Edit<Field> {
  const kept = context.unsaved.read(name)?.basis;
  /** What the text here began from, with all that was decided about since. */
  let settled: Stored<Field> = { version: stored.version, values: { ...stored.values, ...kept?.values } };
  if (kept !== undefined) settled = { ...settled, version: kept.version };
  let latest = stored;
  const theirs = new Map<Field, string>();
  const fields = Object.keys(stored.values) as Field[];

  const withChanges = <Of>({ send, onDone }: EditAction<Field, Of>): TaskAction<Field, Of> => ({
    send(values, options) {
      const changed = fields.filter((field) => values[field] !== settled.values[field]);
      const sent = Object.fromEntries(changed.map((field) => [field, values[field]]));
      return send(sent as Partial<Values<Field>>, settled.version, options);
    },
    onDone,
  });

  const task = createTask<Field, Result, OtherResult>(context, {
    ...withChanges(main),
    name,
    initial: stored.values,
    basis: () => settled,
    ...(other && { other: withChanges(other) }),
  });

  /** What is decided about has this value in what is stored now. */
  function settle(values: Partial<Values<Field>>): void {
    settled = theirs.size === 0 ? latest : { ...settled, values: { ...settled.values, ...values } };
    // Saves the text with what it is compared with now.
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
    get isUnsaved() {
      return task.isUnsaved;
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
    async submit(button = 'main') {
      // What others have written is decided about first.
      if (theirs.size > 0) return;
      if (button === 'main' && !task.isUnsaved) {
        task.discard();
        return onUnchanged();
      }
      await task.submit(button);
      if (task.state.kind === 'failed' && task.state.error.code === 'CONFLICT') onConflict(button);
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
