import { createIdempotencyKey } from '../../../retry.ts';
import { failureIn, type Pause, type Problem, type RequestFailed } from '../api/problem.ts';
import type { Basis, Drafts } from './drafts.ts';

export type TaskState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'sending'; readonly pause?: Pause }
  | { readonly kind: 'failed'; readonly problem: Problem };

export interface TaskOptions<Field extends string, Result> {
  readonly name: string;
  readonly drafts: Drafts;
  readonly initial: Readonly<Record<Field, string>>;
  /** What is changed, if something is. The initial values are its. */
  readonly basis?: () => Basis & { readonly values: Readonly<Record<Field, string>> };
  readonly send: (
    values: Readonly<Record<Field, string>>,
    idempotencyKey: string,
    onPause: (pause: Pause) => void,
  ) => Promise<Result>;
  readonly onDone: (result: Result) => void;
  /** The session has ended. The draft is kept. */
  readonly onSignedOut: () => void;
  readonly update: () => void;
}

export interface Task<Field extends string> {
  readonly values: Readonly<Record<Field, string>>;
  readonly state: TaskState;
  /** Whether something is typed that is not saved. */
  readonly isDraft: boolean;
  set(field: Field, value: string): void;
  submit(): Promise<void>;
  /** Forgets what was typed. */
  discard(): void;
}

/**
 * A form that is sent once, however often it is submitted: every attempt at the same text has the same Idempotency-Key
 * until a response has `data` (docs/idempotency.md). Text that changes is another task.
 */
export function createTask<Field extends string, Result>(options: TaskOptions<Field, Result>): Task<Field> {
  const { name, drafts, basis, send, onDone, onSignedOut, update } = options;
  const initial = () => basis?.().values ?? options.initial;
  const stored = drafts.read(name);
  let values: Readonly<Record<Field, string>> = { ...initial(), ...stored?.values };
  let key = stored?.key;
  let sent = stored?.sent;
  let state: TaskState = { kind: 'idle' };
  /** The draft as this form has stored it. */
  let own: string | undefined;

  /** Whoever has left the form while it was sent and come back may have typed on, or sent it. */
  const isOwn = () => JSON.stringify(drafts.read(name)) === own;

  const isDraft = () => JSON.stringify(values) !== JSON.stringify(initial());

  function save(): void {
    drafts.write(name, {
      values,
      ...(basis === undefined ? {} : { basis: basis() }),
      ...(key === undefined || sent === undefined ? {} : { key, sent }),
    });
    own = JSON.stringify(drafts.read(name));
  }

  function show(next: TaskState): void {
    state = next;
    update();
  }

  /** The key of the text as it stands. */
  function keyOfText(): string {
    const text = JSON.stringify([values, basis?.().version]);
    if (key === undefined || sent !== text) key = createIdempotencyKey();
    sent = text;
    save();
    return key;
  }

  function fail({ problem, wasExecuted }: RequestFailed): void {
    // The status of this attempt does not tell whether an earlier one took effect.
    if (wasExecuted) key = undefined;
    if (isOwn()) save();
    show({ kind: 'failed', problem });
    if (problem.kind === 'signed-out') onSignedOut();
  }

  function empty(): void {
    values = initial();
    key = undefined;
    show({ kind: 'idle' });
  }

  function discard(): void {
    drafts.remove(name);
    empty();
  }

  return {
    get values() {
      return values;
    },
    get state() {
      return state;
    },
    get isDraft() {
      return isDraft();
    },
    set(field, value) {
      values = { ...values, [field]: value };
      if (isDraft()) save();
      else if (key === undefined) drafts.remove(name);
      update();
    },
    async submit() {
      // A second click while the first is on its way.
      if (state.kind === 'sending') return;
      show({ kind: 'sending' });
      let result: Result;
      try {
        result = await send(values, keyOfText(), (pause) => show({ kind: 'sending', pause }));
      } catch (error) {
        fail(failureIn(error));
        return;
      }
      if (isOwn()) drafts.remove(name);
      empty();
      onDone(result);
    },
    discard,
  };
}
