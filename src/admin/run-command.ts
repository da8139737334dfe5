import type { Opened } from './connection.ts';

/** Does a command's work on the open database, and prints what it returns. */
export type RunCommand = (
  work: (opened: Opened) => Promise<unknown>,
  options?: { readonly migrates: boolean },
) => Promise<void>;
