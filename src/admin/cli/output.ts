import { CommanderError } from 'commander';
import { KeyExpiredError } from '../../auth/api-keys.ts';
import { toDatabaseError } from '../../database/errors.ts';
import { OperatorError, withoutUserInformation } from '../../platform/errors.ts';

export class AdminError extends OperatorError {}

/** The result says what was not done and why. */
export class UndoneError extends AdminError {
  readonly result: unknown;
  constructor(message: string, result: unknown) {
    super(message);
    this.result = result;
  }
}

/** Exit codes are part of the contract (contract: administration). */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** Belongs to the user, in this process or at the other end of a socket. */
export interface Output {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string, done?: (error?: Error | null) => void): unknown;
}

/** A command may run in the process of the server for a user elsewhere. */
export interface CommandIo {
  readonly stdout: Output;
  readonly stderr: Output;
  /**
   * The process of the user calls `read` before a database is opened.
   * @throws the errors of `read`.
   */
  input(name: string, read: () => Promise<string>): Promise<string>;
}

/** `inputs` collects the inputs, for a command that is relayed to the server. */
export const createLocalIo = (inputs: Record<string, string> = {}): CommandIo => ({
  stdout: process.stdout,
  stderr: process.stderr,
  async input(name, read) {
    const value = await read();
    inputs[name] = value;
    return value;
  },
});

/** Only unexpected errors include a stack. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof OperatorError) return error.message;
  // Errors of files name a path. Errors of connections have the same codes and name none.
  if ('syscall' in error && 'path' in error)
    return `"${error.path}" cannot be used (${error.message}). Check the permissions of the path and the disk.`;
  const { kind, cause } = toDatabaseError(error);
  if (kind === 'other') return error.stack ?? error.message;
  const { message, code } = (cause ?? error) as { message?: string; code?: string };
  return kind === 'unavailable'
    ? `The database is unavailable, or the connection was lost (${message || code}). Check whether the command took effect before you repeat it.`
    : `The database reported an error: ${message || code}.`;
}

/** @returns the exit code. */
export function report({ stderr }: Pick<CommandIo, 'stderr'>, error: unknown): number {
  // The parser has already printed its message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  print(stderr, withoutUserInformation(describe(error)));
  return error instanceof KeyExpiredError ? EXIT.usage : EXIT.failed;
}

/** A result that is not JSON, or too long for memory. */
export class StreamedText {
  readonly pieces: AsyncIterable<string>;
  constructor(pieces: AsyncIterable<string>) {
    this.pieces = pieces;
  }
}

/**
 * Resolves to false if the reader has closed the pipe.
 * @throws {AdminError}
 */
function write(stdout: Output, text: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (error) => {
      const closed = (error as NodeJS.ErrnoException | null | undefined)?.code === 'EPIPE';
      if (!error || closed) resolve(!closed);
      else reject(new AdminError(`The result cannot be printed: ${error.message}.`));
    });
  });
}

/**
 * Resolves once the result is written. A reader that closes the pipe early, such as `head -1`, is no failure.
 * @throws {AdminError} and the errors of the pieces.
 */
export async function printResult({ stdout }: Pick<CommandIo, 'stdout'>, result: unknown): Promise<void> {
  if (!(result instanceof StreamedText))
    await write(stdout, `${escapeControls(JSON.stringify(result, null, 2))}\n`);
  else for await (const piece of result.pieces) if (!(await write(stdout, escapeControls(piece)))) return;
}

/**
 * C1 controls, which JSON does not escape, and characters that reorder a line on a terminal (Unicode UAX #9).
 */
const CONTROLS = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const escapeCharacter = (control: string) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Line breaks and tabs stay. */
export const escapeTerminal = (message: string): string =>
  message.replaceAll(CONTROLS, escapeCharacter).replaceAll(/[^\P{Cc}\n\t]/gu, escapeCharacter);

/** The escaped JSON has the same value. */
const escapeControls = (json: string): string => json.replaceAll(CONTROLS, escapeCharacter);

export function print(stderr: Output, message: string): void {
  stderr.write(`${escapeTerminal(message)}\n`);
}

export const inWords = (words: readonly string[]): string => new Intl.ListFormat('en-GB').format(words);

export function printSkippedTables(stderr: Output, tables: readonly string[]): void {
  if (tables.length > 0)
    print(stderr, `Tables that no migration of the service created were not copied: ${tables.join(', ')}.`);
}

const MIB = 1_048_576;
const SHOW_MS = 200;

export type ProgressBar = ReturnType<typeof showProgress>;

/** Shows nothing unless `stderr` is a terminal. */
export function showProgress(stderr: Output) {
  let step = '';
  let shownMs = 0;
  const show = (text: string) => {
    if (stderr.isTTY === true) stderr.write(`\r\x1b[K${text}`);
  };
  return {
    step(name: string, bytes = 0): void {
      if (name === step && performance.now() - shownMs < SHOW_MS) return;
      step = name;
      shownMs = performance.now();
      show(bytes > 0 ? `${name} ${Math.floor(bytes / MIB)} MiB` : name);
    },
    end: () => show(''),
  };
}
