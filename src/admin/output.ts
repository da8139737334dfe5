import { CommanderError } from 'commander';
import { AccountError } from '../auth/account/store.ts';
import { KeyLimitError } from '../auth/api-key/store.ts';
import { ClientError } from '../auth/oauth/clients.ts';
import { ConfigError } from '../platform/config.ts';
import { UnsafeFolderError } from '../platform/db/embedded/folder.ts';
import { FolderInUseError } from '../platform/db/embedded/lock.ts';
import { EmbeddedStartError } from '../platform/db/embedded/server.ts';
import { toDatabaseError } from '../platform/db/errors.ts';
import { MigrationError } from '../platform/db/migrate.ts';
import { withoutUserInformation } from '../platform/redact.ts';

/** A command that cannot do what it was asked. The message is for whoever typed it. */
export class AdminError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AdminError';
  }
}

/** The exit codes of contract section 8. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

const PLAIN = [
  AdminError,
  AccountError,
  ClientError,
  ConfigError,
  EmbeddedStartError,
  FolderInUseError,
  KeyLimitError,
  MigrationError,
  UnsafeFolderError,
];

/** What went wrong, in plain words; with a stack only where nobody foresaw it. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (PLAIN.some((kind) => error instanceof kind)) return error.message;
  const { kind, cause } = toDatabaseError(error);
  if (kind === 'other') return error.stack ?? error.message;
  const { message, code } = (cause ?? error) as { message?: string; code?: string };
  return kind === 'unavailable'
    ? `The database cannot be reached, or was lost on the way: look whether the command took effect before you repeat it. (${message || code})`
    : `The database did not do it: ${message || code}.`;
}

/** Says on standard error what ended a command, and gives its exit code. */
export function report(error: unknown): number {
  // The parser has said it all by the time it throws.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  process.stderr.write(`${withoutUserInformation(describe(error))}\n`);
  return EXIT.failed;
}

/** Prints a command's result as one JSON text; resolves once it has left the process. */
export async function printResult(result: unknown): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(`${JSON.stringify(result, null, 2)}\n`, (error) =>
      error ? reject(error) : resolve(),
    );
  });
}
