import type { TemplateResult } from 'lit-html';
import type { Changes } from '../../../live.ts';
import type { Change } from '../api/operations.ts';
import type { User } from '../api/session.ts';
import type { Drafts } from '../forms/drafts.ts';

/** What the window shows for a route. Its heading is an `h1` that can be focused. */
export interface Screen {
  readonly title: string;
  render(): TemplateResult;
  dispose(): void;
}

/** What a screen of a signed-in user may use. */
export interface Context {
  readonly user: User;
  readonly drafts: Drafts;
  readonly changes: Changes<Change>;
  /** Whether the user may change what this user has written. */
  readonly mayChange: (authorId: string) => boolean;
  /** Renders again soon. Resolves when it has. */
  readonly update: () => Promise<void>;
  readonly onSignedOut: () => void;
  /** Goes to another address, unless the user has left this screen meanwhile. */
  readonly go: (hash: string) => void;
}
