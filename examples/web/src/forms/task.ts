import type { Client, ContentGraphError, MutateOptions } from 'content-graph-client';
import { errorOf, type Failure } from '../api/failure.ts';
import type { Basis, Drafts } from './drafts.ts';

export type TaskState =
  | { readonly kind: 'idle' }
  /** `pause`: why the request is repeated, and when. */
  | { readonly kind: 'sending'; readonly pause?: Failure }
  | { readonly kind: 'failed'; readonly error: ContentGraphError };

/** What a form needs of the page. */
export interface TaskContext {
  readonly client: Pick<Client, 'intent'>;
  readonly drafts: Pick<Drafts, 'read' | 'write' | 'remove'>;
  /** The session has ended. The draft is kept. */
  readonly onSignedOut: () => void;
  readonly update: () => void;
}

export interface TaskOptions<Field extends string, Result> {
  readonly name: string;
  readonly initial: Readonly<Record<Field, string>>;
  /** What is changed, if something is. The initial values are its. */
  readonly basis?: () => Basis & { readonly values: Readonly<Record<Field, string>> };
  readonly send: (values: Readonly<Record<Field, string>>, options: MutateOptions) => Promise<Result>;
  readonly onDone: (result: Result) => void;
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
 * A form that is sent once, however often it is submitted: its intent keeps one Idempotency-Key for one text until a
 * response has `data`, also after a reload. Text that changes is another task.
 */
export function createTask<Field extends string, Result>(
  { client, drafts, onSignedOut, update }: TaskContext,
  { name, basis, send, onDone, ...options }: TaskOptions<Field, Result>,
): Task<Field> {
  const intent = client.intent(name);
  const initial = () => basis?.().values ?? options.initial;
  let values: Readonly<Record<Field, string>> = { ...initial(), ...drafts.read(name)?.values };
  let state: TaskState = { kind: 'idle' };

  const isDraft = () => JSON.stringify(values) !== JSON.stringify(initial());
  const readDraft = () => JSON.stringify(drafts.read(name));

  function show(next: TaskState): void {
    state = next;
    update();
  }

  function empty(): void {
    values = initial();
    show({ kind: 'idle' });
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
      if (isDraft()) drafts.write(name, { values, ...(basis && { basis: basis() }) });
      else drafts.remove(name);
      update();
    },
    async submit() {
      // A second click while the first is on its way.
      if (state.kind === 'sending') return;
      show({ kind: 'sending' });
      const sent = readDraft();
      const onRetry: MutateOptions['onRetry'] = (error, retryAtMs) =>
        show({ kind: 'sending', pause: { error, retryAtMs } });
      let result: Result;
      try {
        result = await send(values, { intent, onRetry });
      } catch (caught) {
        const error = errorOf(caught);
        show(error === undefined ? { kind: 'idle' } : { kind: 'failed', error });
        if (error?.code === 'UNAUTHENTICATED') onSignedOut();
        return;
      }
      // A person who has left the form while it was sent and come back may have typed on.
      if (readDraft() === sent) drafts.remove(name);
      empty();
      onDone(result);
    },
    discard() {
      drafts.remove(name);
      intent.discard();
      empty();
    },
  };
}
