import type { Command } from 'commander';
import type { Opened, OpenOptions } from './connection.ts';

/** Runs a command on the open database and prints its result. */
export type RunCommand = (
  work: (opened: Opened) => Promise<unknown>,
  options?: { readonly migrates: boolean },
) => Promise<void>;

/** Runs a command that opens what it needs by itself, and prints its result. */
export type RunWithout = (
  work: (given: Pick<OpenOptions, 'config' | 'log'>) => Promise<unknown>,
) => Promise<void>;

/** A command, or a group of them. A feature joins the command line by these, and a group by giving its name. */
export interface AdminCommand {
  readonly name: string;
  readonly description: string;
  /** Gives the command its subcommands, or its options and its action. */
  define(command: Command, run: RunCommand, runWithout: RunWithout): void;
}
