import type { Command } from 'commander';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/log.ts';
import type { Opened } from './connection.ts';

/** Runs a command on the open database and prints its result. */
export type RunCommand = (
  work: (opened: Opened) => Promise<unknown>,
  options?: { readonly migrates: boolean },
) => Promise<void>;

/** Runs a command that opens the database itself, and prints its result. */
export type RunOnFolder = (work: (config: Config, log: Logger) => Promise<unknown>) => Promise<void>;

/** A command, or a group of them. A feature joins the command line by these. */
export interface AdminCommand {
  readonly name: string;
  readonly description: string;
  /** Gives the command its subcommands, or its options and its action. */
  define(command: Command, run: RunCommand, runOnFolder: RunOnFolder): void;
}
