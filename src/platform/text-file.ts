import { readFileSync } from 'node:fs';

/** A file of an operator holds bytes that are not text. The message continues a sentence after the name of the file. */
export class NotTextError extends Error {
  constructor() {
    super('is not text in UTF-8: save the file as UTF-8');
    this.name = 'NotTextError';
  }
}

/** Byte order marks of UTF-16, which editors and PowerShell on Windows write (Unicode section 23.8). */
const UTF_16_MARKS = [
  ['utf-16le', 0xff, 0xfe],
  ['utf-16be', 0xfe, 0xff],
] as const;

/**
 * Decodes text in UTF-8, or in UTF-16 with a byte order mark. The result has no byte order mark.
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
  // UTF-16 without a byte order mark is valid UTF-8 with a NUL beside each ASCII character.
  if (text.includes('\0')) throw new NotTextError();
  return text;
}

/**
 * Reads a file that an operator wrote.
 * @throws {NotTextError} and errors of the file system
 */
export const readText = (path: string): string => decodeText(readFileSync(path));
