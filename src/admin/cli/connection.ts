import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Database, openDatabase } from '../../database/database.ts';
import { DataDirInUseError } from '../../database/embedded/data-dir-lock.ts';
import { migrate, pendingMigrations } from '../../database/migrate.ts';
import type { Config } from '../../platform/config/config.ts';
import type { Logger } from '../../platform/log/log.ts';
import { AdminError, type CommandIo } from './output.ts';

export interface OpenedDatabase {
  readonly database: Database;
  readonly config: Config;
  readonly applied: readonly string[];
}

export interface Opened extends OpenedDatabase {
  readonly io: CommandIo;
}

export interface OpenOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Other commands do not migrate a PostgreSQL database in production. */
  readonly migrates: boolean;
  /** The command accepts a database of any version and does not migrate it. */
  readonly asIs?: boolean;
}

export interface CommandServices extends Pick<OpenOptions, 'config' | 'log'> {
  readonly io: CommandIo;
  /**
   * Accepts a database of any version.
   * @throws the errors of `openForCommand`.
   */
  open(): Promise<OpenedDatabase>;
}

/** Enough for the start of a server on a busy machine, and for another command to finish. */
const START_WAIT_MS = 60_000;
const RETRY_MS = 100;

/** @throws {DataDirInUseError} if another process has locked the data directory. */
export async function openAlone(options: OpenOptions): Promise<OpenedDatabase> {
  const { config, log, migrates, asIs = false } = options;
  const database = await openDatabase({ config, log, isCommand: true });
  try {
    if (asIs) return { database, config, applied: [] };
    // The service migrates under the same condition when it starts (contract: migrations).
    const migrating = migrates || config.database.kind === 'embedded' || config.environment !== 'production';
    await database.watch.requireUsable({ direct: migrating });
    if (migrating) return { database, config, applied: await migrate(database) };
    const pending = await pendingMigrations(database);
    if (pending.length > 0)
      throw new AdminError(
        `Migrations are pending: ${pending.join(', ')}. Nothing was changed. Run "npm run -s db:migrate" first.`,
      );
    return { database, config, applied: [] };
  } catch (error) {
    await database.close();
    throw error;
  }
}

const INSTALLED = '/etc/content-graph/settings.env';
const DEFAULT_DATA_DIR = '.data';

/**
 * A command without settings would create an unwanted database.
 * @throws {AdminError}
 */
function rejectIfInstalled({ database, environment }: Config): void {
  if (environment === 'production' || database.kind !== 'embedded') return;
  if (database.dataDir !== DEFAULT_DATA_DIR || existsSync(DEFAULT_DATA_DIR) || !existsSync(INSTALLED)) return;
  throw new AdminError(
    `No settings are set, but ${dirname(INSTALLED)} has the settings of an installation. Nothing was created. Run "content-graph-admin" with the same options, or set DATA_DIR=./${DEFAULT_DATA_DIR} for a new database in this directory.`,
  );
}

/**
 * Opens the database, or runs the command with `relay` in the process that has locked the embedded database.
 * `relay` resolves to undefined while no server responds.
 * @throws {AdminError} after START_WAIT_MS, and the errors of opening and migrating.
 */
export async function openForCommand<Relayed = never>(
  options: OpenOptions,
  relay: () => Promise<Relayed | undefined> = async () => undefined,
): Promise<OpenedDatabase | Relayed> {
  rejectIfInstalled(options.config);
  const giveUpAtMs = performance.now() + START_WAIT_MS;
  for (;;) {
    const relayed = await relay();
    if (relayed !== undefined) return relayed;
    try {
      return await openAlone(options);
    } catch (error) {
      if (!(error instanceof DataDirInUseError)) throw error;
    }
    if (performance.now() > giveUpAtMs)
      throw new AdminError(
        `Another process uses the embedded database in "${options.config.dataDir}" and accepts no command. Nothing was changed. Wait until another command is finished, or read in the log of the server why it has no admin socket.`,
      );
    await delay(RETRY_MS);
  }
}

/** If a server has locked the embedded database, the command runs in the process of the server. */
export type RunCommand = (
  work: (opened: Opened) => Promise<unknown>,
  options?: { readonly migrates: boolean },
) => Promise<void>;

/** With `relayed`, the command runs in the process that has locked the embedded database. */
export type RunWithout = (
  work: (given: CommandServices) => Promise<unknown>,
  options?: { readonly relayed: boolean },
) => Promise<void>;

export interface CommandLine {
  /** `usage` is a group, or a command with its arguments, such as `user disable <email>`. */
  add(usage: string, description: string): Command;
  /** `work` also gets the arguments and the options. */
  command<Args extends unknown[]>(
    usage: string,
    description: string,
    work: (opened: Opened, ...args: Args) => Promise<unknown>,
  ): Command;
  readonly run: RunCommand;
  readonly runWithout: RunWithout;
  readonly io: CommandIo;
}

/** A feature adds its commands with such a function, in the order of the help. */
export type DefineCommands = (line: CommandLine) => void;
