import type { Client, ContentGraphError, Intent, MutateOptions } from 'content-graph-client';
import { errorOf, type Failure } from '../api/failure.ts';
import type { Basis, UnsavedTexts } from './unsaved.ts';

export type TaskState =
  | { readonly kind: 'idle' }
  /** `pause`: why the request is repeated, and when. */
  | { readonly kind: 'sending'; readonly pause?: Failure }
  | { readonly kind: 'failed'; readonly error: ContentGraphError };

/** What a form needs of the page. */
export interface TaskContext {
  readonly client: Pick<Client, 'intent'>;
  readonly unsaved: Pick<UnsavedTexts, 'read' | 'write' | 'remove'>;
  /** The session has ended. The text is kept. */
  readonly onSignedOut: () => void;
  readonly update: () => void;
}

/** What a button of a form does. */
export type TaskButton = 'main' | 'other';

/** What a form does with its values. */
export interface TaskAction<Field extends string, Result> {
  readonly send: (values: Readonly<Record<Field, string>>, options: MutateOptions) => Promise<Result>;
  readonly onDone: (result: Result) => void;
}

export interface TaskOptions<Field extends string, Result, OtherResult> extends TaskAction<Field, Result> {
  readonly name: string;
  readonly initial: Readonly<Record<Field, string>>;
  /** What is changed, if something is. The initial values are its. */
  readonly basis?: () => Basis & { readonly values: Readonly<Record<Field, string>> };
  /** What the second button does, if there is one. */
  readonly other?: TaskAction<Field, OtherResult>;
}

export interface Task<Field extends string> {
  readonly values: Readonly<Record<Field, string>>;
  readonly state: TaskState;
  /** Whether something is typed that is not saved. */
  readonly isUnsaved: boolean;
  set(field: Field, value: string): void;
  submit(button?: TaskButton): Promise<void>;
  /** Forgets what was typed. */
  discard(): void;
}

/**
 * A form that is sent once, however often it is submitted: its intent keeps one Idempotency-Key for one text until a
 * response has `data`, also after a reload. Text that changes is another task.
 */
export function createTask<Field extends string, Result, OtherResult = never>(
  { client, unsaved, onSignedOut, update }: TaskContext,
  { name, basis, other, ...options }: TaskOptions<Field, Result, OtherResult>,
): Task<Field> {
  /** Each button has its own: an intent knows the values, but not what is done with them. */
  const intents = { main: client.intent(name), other: client.intent(`${name}, other button`) };
  const initial = () => basis?.().values ?? options.initial;
  let values: Readonly<Record<Field, string>> = { ...initial(), ...unsaved.read(name)?.values };
  let state: TaskState = { kind: 'idle' };

  const isUnsaved = () => JSON.stringify(values) !== JSON.stringify(initial());
  const readUnsaved = () => JSON.stringify(unsaved.read(name));

  function show(next: TaskState): void {
    state = next;
    update();
  }

  function empty(): void {
    values = initial();
    show({ kind: 'idle' });
  }

  async function run<Of>({ send, onDone }: TaskAction<Field, Of>, intent: Intent): Promise<void> {
    // A second click while the first is on its way.
    if (state.kind === 'sending') return;
    show({ kind: 'sending' });
    const sent = readUnsaved();
    const onRetry: MutateOptions['onRetry'] = (error, retryAtMs) =>
      show({ kind: 'sending', pause: { error, retryAtMs } });
    let result: Of;
    try {
      result = await send(values, { intent, onRetry });
    } catch (caught) {
      const error = errorOf(caught);
      show(error === undefined ? { kind: 'idle' } : { kind: 'failed', error });
      if (error?.code === 'UNAUTHENTICATED') onSignedOut();
      return;
    }
    // A person who has left the form while it was sent and come back may have typed on.
    if (readUnsaved() === sent) unsaved.remove(name);
    empty();
    onDone(result);
  }

  return {
    get values() {
      return values;
    },
    get state() {
      return state;
    },
    get isUnsaved() {
      return isUnsaved();
    },
    set(field, value) {
      values = { ...values, [field]: value };
      if (isUnsaved()) unsaved.write(name, { values, ...(basis && { basis: basis() }) });
      else unsaved.remove(name);
      update();
    },
    async submit(button = 'main') {
      if (button === 'main') await run(options, intents.main);
      else if (other !== undefined) await run(other, intents.other);
    },
    discard() {
      unsaved.remove(name);
      for (const intent of Object.values(intents)) intent.discard();
      empty();
    },
  };
}
