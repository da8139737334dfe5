import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { z } from 'zod';
import {
  checkPassword,
  hasInvalidUnicode,
  isIdentifier,
  MAX_IDENTIFIER_LENGTH,
} from '../../auth/accounts.ts';
import { STRICTER_DOCUMENTS } from '../../auth/principal.ts';
import { type Role, SCOPES, type Scope } from '../../auth/scopes.ts';
import { decodeText, NotTextError } from '../../platform/config/setting-files.ts';
import { databaseUrl, decimal, integer } from '../../platform/config/setting-parsers.ts';
import { type Network, networkOf } from '../../platform/ip-address.ts';
import { AdminError, type CommandIo } from './output.ts';

const ROLES: readonly Role[] = ['member', 'admin'];
const MAX_NAME_LENGTH = 100;
const MAX_REASON_LENGTH = 500;

/** Each parser reads one option. InvalidArgumentError becomes a usage error (exit code 2). */
export function parseRole(text: string): Role {
  const role = ROLES.find((known) => known === text);
  if (role === undefined) throw new InvalidArgumentError(`Valid roles are ${ROLES.join(' and ')}.`);
  return role;
}

/** @param what the plural and singular noun for the messages. */
export function parseNames<T extends string>(
  text: string,
  known: readonly T[],
  what: readonly [string, string],
): readonly T[] {
  const isKnown = (name: string): name is T => (known as readonly string[]).includes(name);
  const names = text.split(/[\s,]+/).filter((name) => name !== '');
  const unknown = names.filter((name) => !isKnown(name));
  if (unknown.length > 0)
    throw new InvalidArgumentError(
      `Unknown: ${unknown.join(', ')}. Valid ${what[0].toLowerCase()} are ${known.join(', ')}.`,
    );
  if (names.length === 0) throw new InvalidArgumentError(`Name at least one ${what[1]}.`);
  return [...new Set(names.filter(isKnown))];
}

/** Scopes are separated by spaces (RFC 6749, "Access Token Scope") or by commas. */
export const parseScopes = (text: string): readonly Scope[] => parseNames(text, SCOPES, ['Scopes', 'scope']);

const ISO_8601 = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** The clock of this machine may be wrong by a day, and the clock of the database checks later timestamps. */
const LONG_PAST_MS = 86_400_000;

/** A date means its start in UTC. */
export function parseTimestamp(text: string): Date {
  const timestamp = new Date(text);
  const [year, month, day] = text.split(/[-T]/).map(Number);
  const exists = new Date(Date.UTC(year ?? 0, (month ?? 0) - 1, day)).getUTCDate() === day;
  if (!ISO_8601.test(text) || !exists || Number.isNaN(timestamp.getTime()))
    throw new InvalidArgumentError('It must be an ISO 8601 time such as 2030-01-31T12:00:00Z.');
  return timestamp;
}

export function parseExpiry(text: string): Date {
  const timestamp = parseTimestamp(text);
  if (timestamp.getTime() < Date.now() - LONG_PAST_MS)
    throw new InvalidArgumentError('It must be in the future.');
  return timestamp;
}

const parseText = (isValid: (text: string) => boolean, most: number) => (text: string) => {
  if (!isValid(text)) throw new InvalidArgumentError(`It must be 1 to ${most} characters long.`);
  return text;
};

const hasLength = (text: string, most: number): boolean => text.trim() !== '' && [...text].length <= most;

export const parseCredentialName = parseText((text) => hasLength(text, MAX_NAME_LENGTH), MAX_NAME_LENGTH);
export const parseIdentifier = parseText(isIdentifier, MAX_IDENTIFIER_LENGTH);
export const parseReason = parseText(
  (text) => hasLength(text, MAX_REASON_LENGTH) && !hasInvalidUnicode(text),
  MAX_REASON_LENGTH,
);

const MAX_LIMIT = 1_000_000;

const parseAs =
  <T>(form: z.ZodType<T>) =>
  (text: string): T => {
    const { data, error } = form.safeParse(text);
    if (data === undefined) throw new InvalidArgumentError(`It ${error?.issues[0]?.message}.`);
    return data;
  };

export const parseSeconds = (most: number) => parseAs(integer(1, most));

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const LONGEST_MS = 3_650 * UNIT_MS.d;

export function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit as keyof typeof UNIT_MS] ?? 0);
  if (!(ms > 0 && ms <= LONGEST_MS))
    throw new InvalidArgumentError('It must be a number of s, m, h or d, such as 30m, and at most 3650d.');
  return ms;
}

export function parseNetwork(text: string): Network {
  const network = networkOf(text);
  if (network === undefined)
    throw new InvalidArgumentError('It must be an IP address or a network such as 192.0.2.0/24.');
  return network;
}

export interface ReasonOption {
  readonly reason?: string;
}

export const parseDatabaseUrl = parseAs(databaseUrl);

const burstOption = (about: string): Option =>
  new Option('--burst <n>', about).argParser(parseAs(integer(1, MAX_LIMIT)));
const perSecondOption = (about: string): Option =>
  new Option('--per-second <n>', about).argParser(parseAs(decimal(0.001, MAX_LIMIT)));

export const addOverrideOptions = (command: Command): Command =>
  command
    .addOption(burstOption('requests in a burst; default: RATE_LIMIT_BURST'))
    .addOption(perSecondOption('sustained requests per second; default: RATE_LIMIT_PER_SECOND'))
    .addOption(
      new Option(
        '--documents <policy>',
        'documents that the credential may run; stricter than TRUSTED_DOCUMENTS only',
      ).choices(STRICTER_DOCUMENTS),
    );

export const OLDEST_FIRST: { createdAt?: 'asc'; id?: 'asc' }[] = [{ createdAt: 'asc' }, { id: 'asc' }];

const OVERRIDES = ['documents', 'burst', 'perSecond'] as const;
type Overrides = Readonly<Record<(typeof OVERRIDES)[number], unknown>>;

export const withoutUnset = <T extends Overrides>(listed: T): object =>
  Object.fromEntries(
    Object.entries(listed).filter(
      ([name, value]) => value !== null || !OVERRIDES.some((override) => override === name),
    ),
  );

export interface LimitOptions {
  readonly burst?: number;
  readonly perSecond?: number;
  readonly reset?: boolean;
}

/** The user must give one of the options. */
export const addLimitOptions = (command: Command): Command =>
  command
    .addOption(burstOption('requests in a burst'))
    .addOption(perSecondOption('sustained requests per second'))
    .addOption(
      new Option('--reset', 'Use the rate limit of the settings again').conflicts(['burst', 'perSecond']),
    )
    .hook('preAction', () => {
      if (Object.keys(command.opts()).length === 0)
        command.error('error: specify the limit: --burst, --per-second or both, or --reset');
    });

/** @returns undefined if the settings apply. */
export const limitsOf = ({ reset = false, ...limits }: LimitOptions) => (reset ? undefined : limits);

/** Without these options, the command asks the user for the password. */
export interface PasswordOptions {
  readonly password?: string;
  readonly passwordStdin?: boolean;
}

export function passwordStdinOption(): Option {
  return new Option('--password-stdin', 'Read the password, one line, from standard input');
}

/** @throws {AdminError} */
async function ask(): Promise<string> {
  // Readline puts the terminal into raw mode, and its echo is discarded.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  const typed = lines[Symbol.asyncIterator]();
  const prompt = async (text: string) => {
    // The prompt is written to standard error, because standard output is for the result.
    process.stderr.write(text);
    const { done, value } = await typed.next();
    process.stderr.write('\n');
    if (done === true) throw new AdminError('No password was entered. Nothing was changed.');
    return value;
  };
  try {
    const first = await prompt('Password: ');
    if ((await prompt('Again: ')) !== first)
      throw new AdminError('The two passwords differ. Nothing was changed. Repeat the command.');
    return first;
  } finally {
    lines.close();
  }
}

/** A password has at most 200 characters of up to 4 bytes. */
const MAX_BYTES = 4_096;

/** @throws {AdminError} unless standard input is one line. */
async function readLine(): Promise<string> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of process.stdin) {
    bytes = Buffer.concat([bytes, Buffer.from(chunk)]);
    if (bytes.length > MAX_BYTES)
      throw new AdminError('Standard input is too long for a password. Nothing was changed.');
  }
  let text: string;
  try {
    text = decodeText(bytes);
  } catch (error) {
    // Invalid UTF-8 would become characters that cannot be typed.
    throw error instanceof NotTextError
      ? new AdminError('Standard input is not UTF-8. Nothing was changed.')
      : error;
  }
  const line = text.replace(/\r?\n$/, '');
  if (line === '') throw new AdminError('Standard input has no password. Nothing was changed.');
  if (/[\r\n]/.test(line))
    throw new AdminError('Standard input has more than one line. Nothing was changed.');
  return line;
}

/**
 * Must run before the command opens the database, because typing may take long.
 * @throws {AccountError}
 * @throws {AdminError} and a usage error without a terminal.
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
      command.error(`error: there is no terminal to enter the password: use ${option}--password-stdin`);
    }
    const given = passwordStdin ? await readLine() : await ask();
    await checkPassword(given);
    return given;
  });
}
