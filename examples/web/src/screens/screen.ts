import type { Changes, Client, Document, MutateOptions, SessionUser } from 'content-graph-client';
import type { TemplateResult } from 'lit-html';
import type { Change } from '../api/operations.ts';
import type { TaskContext } from '../forms/task.ts';
import type { UnsavedTexts } from '../forms/unsaved.ts';
import type { ListPlace } from '../router.ts';

/** What the window shows for a route. Its heading is an `h1` that can be focused. */
export interface Screen {
  readonly title: string;
  render(): TemplateResult;
  dispose(): void;
}

/** The result of a mutation of this page. */
export interface Mutated<Data> {
  readonly data: Data;
  /** Shows a change before the stream brings it. */
  readonly show: (change: Change) => void;
}

/** What a screen of a signed-in user may use. */
export interface Context extends TaskContext {
  readonly user: SessionUser;
  readonly client: Client;
  readonly unsaved: UnsavedTexts;
  readonly changes: Changes<Change>;
  readonly mutate: <Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    options: MutateOptions,
  ) => Promise<Mutated<Data>>;
  /** Whether the user may change what this user has written. */
  readonly mayChange: (authorId: string) => boolean;
  /** Says whether the page is live. */
  readonly status: () => TemplateResult;
  /** Links to the posts with each tag, from a list of posts. */
  readonly tags: (place: ListPlace) => TemplateResult;
  /** Renders again soon. Resolves when it has. */
  readonly update: () => Promise<void>;
  /** Goes to another address, unless the user has left this screen. */
  readonly go: (hash: string) => void;
}
