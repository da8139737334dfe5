import type { Opened } from './connection.ts';

/** Runs a command on the open database and prints its result. */
export type RunCommand = (
  work: (opened: Opened) => Promise<unknown>,
  options?: { readonly migrates: boolean },
) => Promise<void>;
