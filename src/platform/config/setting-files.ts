import { readFileSync } from 'node:fs';
import { FILE_SETTINGS } from './setting-table.ts';

/** The message continues a sentence that begins with the name of the file. */
export class NotTextError extends Error {
  constructor() {
    super('is not text in UTF-8: save the file as UTF-8');
    this.name = 'NotTextError';
  }
}

/** Editors and PowerShell on Windows write UTF-16 with these byte order marks (Unicode §23.8). */
const UTF_16_MARKS = [
  ['utf-16le', 0xff, 0xfe],
  ['utf-16be', 0xfe, 0xff],
] as const;

/**
 * Decodes UTF-8, or UTF-16 with a byte order mark, and removes the mark.
 * @throws {NotTextError}
 */
export function decodeText(bytes: Uint8Array): string {
  const [encoding = 'utf-8'] =
    UTF_16_MARKS.find(([, first, second]) => bytes[0] === first && bytes[1] === second) ?? [];
  let text: string;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw new NotTextError();
    throw error;
  }
  // UTF-16 without a byte order mark is valid UTF-8 with a NUL next to each ASCII character.
  if (text.includes('\0')) throw new NotTextError();
  return text;
}

/** @throws {NotTextError} and errors of the file system */
export const readText = (path: string): string => decodeText(readFileSync(path));

function contentOf(path: string): { readonly value: string } | { readonly problem: string } {
  try {
    const value = readText(path).replace(/\r?\n$/, '');
    return value === '' ? { problem: 'is empty' } : { value };
  } catch (error) {
    if (error instanceof NotTextError) return { problem: error.message };
    const { code } = error as NodeJS.ErrnoException;
    return { problem: code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})` };
  }
}

/**
 * Reads the secrets that `environment` names as files. Orchestrators mount secrets as files, because
 * environments leak more easily.
 * @returns the values by setting without `_FILE`, one sentence per error, and the settings with errors
 */
export function valuesFromFiles(environment: NodeJS.ProcessEnv) {
  const values: Record<string, string> = {};
  const problems: string[] = [];
  const broken: string[] = [];
  for (const name of FILE_SETTINGS) {
    const setting = `${name}_FILE`;
    const path = environment[setting];
    if (!path) continue;
    const content = environment[name] ? { problem: undefined } : contentOf(path);
    if ('value' in content) {
      values[name] = content.value;
      continue;
    }
    broken.push(name);
    problems.push(
      content.problem === undefined
        ? `${name} and ${setting} are both set: remove one of them.`
        : `${setting} names the file "${path}", which ${content.problem}: it must hold the value of ${name}.`,
    );
  }
  return { values, problems, broken };
}
