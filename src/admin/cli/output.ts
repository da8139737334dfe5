import { CommanderError } from 'commander';
import { KeyExpiredError } from '../../auth/api-keys.ts';
import { toDatabaseError } from '../../database/errors.ts';
import { OperatorError, withoutUserInformation } from '../../platform/errors.ts';

/** A command failed for a reason that its user can act on. */
export class AdminError extends OperatorError {}

/** A command has done nothing, or not all of it. Its result says what and why. */
export class UndoneError extends AdminError {
  readonly result: unknown;
  constructor(message: string, result: unknown) {
    super(message);
    this.result = result;
  }
}

/** The exit codes of contract section 8. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** Standard output or standard error of the person who runs a command: of this process, or at the other end of a socket. */
export interface Output {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string, done?: (error?: Error | null) => void): unknown;
}

/** What a command reads and writes. Its process may be the server's, and the person elsewhere. */
export interface CommandIo {
  readonly stdout: Output;
  readonly stderr: Output;
  /**
   * The input of that name, such as a password. `read` is called where the person is, before a database is opened. Throws
   * what `read` throws.
   */
  input(name: string, read: () => Promise<string>): Promise<string>;
}

/** The input and output of this process. `inputs` gets what is read. */
export const createLocalIo = (inputs: Record<string, string> = {}): CommandIo => ({
  stdout: process.stdout,
  stderr: process.stderr,
  async input(name, read) {
    const value = await read();
    inputs[name] = value;
    return value;
  },
});

/** A readable error message. Only unexpected errors include a stack. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof OperatorError) return error.message;
  const { kind, cause } = toDatabaseError(error);
  if (kind === 'other') return error.stack ?? error.message;
  const { message, code } = (cause ?? error) as { message?: string; code?: string };
  return kind === 'unavailable'
    ? `The database is unavailable, or the connection was lost (${message || code}). Check whether the command took effect before you repeat it.`
    : `The database reported an error: ${message || code}.`;
}

/** Prints a command's error to standard error and returns its exit code. */
export function report({ stderr }: Pick<CommandIo, 'stderr'>, error: unknown): number {
  // The parser has already printed its message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  print(stderr, withoutUserInformation(describe(error)));
  return error instanceof KeyExpiredError ? EXIT.usage : EXIT.failed;
}

/** A result that is not JSON, or too long for memory: the pieces of its text. */
export class StreamedText {
  readonly pieces: AsyncIterable<string>;
  constructor(pieces: AsyncIterable<string>) {
    this.pieces = pieces;
  }
}

/** Resolves once the text is written: to false if its reader has left. Throws AdminError. */
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
 * Prints a command's result as JSON, or the text that it is. Resolves once it is written. A reader that has seen enough,
 * such as `head -1`, is no failure: the command has done its work. Throws AdminError, and what the pieces throw.
 */
export async function printResult({ stdout }: Pick<CommandIo, 'stdout'>, result: unknown): Promise<void> {
  if (!(result instanceof StreamedText))
    await write(stdout, `${escapeControls(JSON.stringify(result, null, 2))}\n`);
  else for await (const piece of result.pieces) if (!(await write(stdout, escapeControls(piece)))) return;
}

/** C1 controls, which JSON leaves as they are, and characters that reorder text on a terminal (Unicode UAX #9). */
const CONTROLS = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const escapeOf = (control: string) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes characters of a message that change what a terminal shows, except line breaks and tabs. */
export const escapeTerminal = (message: string): string =>
  message.replaceAll(CONTROLS, escapeOf).replaceAll(/[^\P{Cc}\n\t]/gu, escapeOf);

/** Escapes characters that change what a terminal shows. JSON stays the same JSON. */
const escapeControls = (json: string): string => json.replaceAll(CONTROLS, escapeOf);

/** Prints a message for the person who runs the command. */
export function print(stderr: Output, message: string): void {
  stderr.write(`${escapeTerminal(message)}\n`);
}

/** Lists nouns in a sentence. */
export const inWords = (words: readonly string[]): string => new Intl.ListFormat('en-GB').format(words);

/** Names the tables that a copy lacks, because no migration of the service has made them. */
export function printSkippedTables(stderr: Output, tables: readonly string[]): void {
  if (tables.length > 0)
    print(stderr, `Tables that no migration of the service created were not copied: ${tables.join(', ')}.`);
}

const MIB = 1_048_576;
const SHOW_MS = 200;

export type ProgressBar = ReturnType<typeof showProgress>;

/** Shows on a terminal how far a long command is; nowhere else. */
export function showProgress(stderr: Output) {
  let step = '';
  let bytes = 0;
  let shownMs = 0;
  const show = (text: string) => {
    if (stderr.isTTY !== true) return;
    shownMs = performance.now();
    stderr.write(`\r\x1b[K${text}`);
  };
  const update = (isNew: boolean) => {
    if (!isNew && performance.now() - shownMs < SHOW_MS) return;
    show(`${step}${bytes > 0 ? ` ${Math.floor(bytes / MIB)} MiB` : ''}`);
  };
  return {
    /** So many bytes more. */
    add(more: number): void {
      bytes += more;
      update(false);
    },
    /** What is done now, and so many bytes of it. */
    step(name: string, done = 0): void {
      const isNew = name !== step;
      step = name;
      bytes = done;
      update(isNew);
    },
    end: () => show(''),
  };
}
