import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { type Command, Option } from 'commander';
import { checkPassword } from '../auth/account/store.ts';
import { decodeText, NotTextError } from '../platform/text-file.ts';
import { AdminError } from './output.ts';

/** The options of a command that takes a password. At most one is given; without any, a person is asked. */
export interface PasswordOptions {
  readonly password?: string;
  readonly passwordStdin?: boolean;
}

/** Standard output is for the result. */
const { stdin: input, stderr: output } = process;
/** A password has at most 200 characters of up to 4 bytes. */
const MAX_BYTES = 4_096;

export function passwordStdinOption(): Option {
  return new Option('--password-stdin', 'reads the password, one line, from standard input');
}

/** Asks twice for a password that is not shown. Throws AdminError. */
async function ask(): Promise<string> {
  // Readline puts the terminal into raw mode, and what it would show goes nowhere.
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: hidden, terminal: true, historySize: 0 });
  const typed = lines[Symbol.asyncIterator]();
  try {
    const answers: string[] = [];
    for (const prompt of ['Password: ', 'Again: ']) {
      output.write(prompt);
      const { done, value } = await typed.next();
      output.write('\n');
      if (done === true) throw new AdminError('No password was given.');
      answers.push(value);
    }
    const [first = '', second] = answers;
    if (first !== second) throw new AdminError('The two passwords differ.');
    return first;
  } finally {
    lines.close();
  }
}

/** Bytes that are not UTF-8 would become characters that cannot be typed. */
function lineOf(bytes: Buffer): string {
  try {
    return decodeText(bytes);
  } catch (error) {
    if (error instanceof NotTextError) throw new AdminError('Standard input is not UTF-8.');
    throw error;
  }
}

/** The one line of standard input. Throws AdminError. */
async function readLine(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new AdminError('Standard input is too long for a password.');
    chunks.push(part);
  }
  const line = lineOf(Buffer.concat(chunks)).replace(/\r?\n$/, '');
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
): Promise<string> {
  const given = password ?? (passwordStdin ? await readLine() : undefined);
  if (given === undefined && input.isTTY !== true) {
    const option = command.options.some(({ long }) => long === '--password') ? '--password or ' : '';
    command.error(`error: there is no terminal to ask for the password: use ${option}--password-stdin`);
  }
  const read = given ?? (await ask());
  await checkPassword(read);
  return read;
}
