import { hashSecret, secretFormat } from '../secret-format.ts';

const PREFIX = 'cga_';
const SHOWN_LENGTH = PREFIX.length + 6;
const FORMAT = secretFormat(PREFIX);

export const generateApiKey = FORMAT.generate;
/** Whether the text looks like an API key of this service. */
export const looksLikeApiKey = FORMAT.looksLike;
/** Whether the text has the form and checksum of a key. The key may still not exist. */
export const isWellFormedApiKey = FORMAT.isWellFormed;
/** What is stored of a key. */
export const hashApiKey = hashSecret;

/** The part of a key that may be shown to identify it. */
export function shownPrefix(key: string): string {
  return key.slice(0, SHOWN_LENGTH);
}
