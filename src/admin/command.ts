import type { Command } from 'commander';
import type { Given, Opened } from './connection.ts';
import type { CommandIo } from './output.ts';

/**
 * Runs a command on the open database and prints its result. While a server has the embedded database, the command runs in
 * the process of the server.
 */
export type RunCommand = (
  work: (opened: Opened) => Promise<unknown>,
  options?: { readonly migrates: boolean },
) => Promise<void>;

/**
 * Runs a command that opens what it needs, and prints its result. The command runs in this process, or with `relayed` in
 * the process that has the embedded database.
 */
export type RunWithout = (
  work: (given: Given) => Promise<unknown>,
  options?: { readonly relayed: boolean },
) => Promise<void>;

/** A command, or a group of them. A feature joins the command line by these, and a group by giving its name. */
export interface AdminCommand {
  readonly name: string;
  readonly description: string;
  /** Gives the command its subcommands, or its options and its action. */
  define(command: Command, run: RunCommand, runWithout: RunWithout, io: CommandIo): void;
}
