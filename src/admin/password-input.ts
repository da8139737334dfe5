import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { type Command, Option } from 'commander';
import { checkPassword } from '../auth/account/store.ts';
import { decodeText, NotTextError } from '../platform/text-file.ts';
import { AdminError, type CommandIo } from './output.ts';

/** The options of a command that takes a password. At most one is given; without any, a person is asked. */
export interface PasswordOptions {
  readonly password?: string;
  readonly passwordStdin?: boolean;
}

export function passwordStdinOption(): Option {
  return new Option('--password-stdin', 'reads the password, one line, from standard input');
}

/** Asks twice for a password that is not shown. Throws AdminError. */
async function ask(): Promise<string> {
  // Readline puts the terminal into raw mode, and what it would show goes nowhere.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  const typed = lines[Symbol.asyncIterator]();
  const prompt = async (text: string) => {
    // Standard output is for the result.
    process.stderr.write(text);
    const { done, value } = await typed.next();
    process.stderr.write('\n');
    if (done === true) throw new AdminError('No password was given.');
    return value;
  };
  try {
    const first = await prompt('Password: ');
    if ((await prompt('Again: ')) !== first) throw new AdminError('The two passwords differ.');
    return first;
  } finally {
    lines.close();
  }
}

/** A password has at most 200 characters of up to 4 bytes. */
const MAX_BYTES = 4_096;

/** The one line of standard input. Throws AdminError. */
async function readLine(): Promise<string> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of process.stdin) {
    bytes = Buffer.concat([bytes, Buffer.from(chunk)]);
    if (bytes.length > MAX_BYTES) throw new AdminError('Standard input is too long for a password.');
  }
  let text: string;
  try {
    text = decodeText(bytes);
  } catch (error) {
    // Bytes that are not UTF-8 would become characters that cannot be typed.
    throw error instanceof NotTextError ? new AdminError('Standard input is not UTF-8.') : error;
  }
  const line = text.replace(/\r?\n$/, '');
  if (line === '') throw new AdminError('Standard input has no password.');
  if (/[\r\n]/.test(line)) throw new AdminError('Standard input has more than one line.');
  return line;
}

/**
 * The password for a command, before it opens the database: a person may take long. Throws AccountError, AdminError, and
 * a usage error if there is nobody to ask.
 */
export async function readPassword(
  { password, passwordStdin = false }: PasswordOptions,
  command: Command,
  io: CommandIo,
): Promise<string> {
  if (password !== undefined) {
    await checkPassword(password);
    return password;
  }
  return io.input('password', async () => {
    if (!passwordStdin && process.stdin.isTTY !== true) {
      const option = command.options.some(({ long }) => long === '--password') ? '--password or ' : '';
      command.error(`error: there is no terminal to ask for the password: use ${option}--password-stdin`);
    }
    const given = passwordStdin ? await readLine() : await ask();
    await checkPassword(given);
    return given;
  });
}
