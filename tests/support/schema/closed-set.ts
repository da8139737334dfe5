import { expect } from 'vitest';
import { ERRORS } from '../../../src/platform/errors.ts';

/** What only the inside knows: SQL and its errors, stacks, files, and the names of libraries. */
const INTERNAL =
  /prisma|pothos|\byoga\b|envelop|dataloader|pglite|oidc-provider|\bkoa\b|postgres|sqlstate|\bpg_|\bP20\d\d\b|node_modules|node:internal|\.(?:ts|js|mjs|cjs):\d|\n\s+at |\bselect\b.+\bfrom\b|insert into|TypeError|RangeError|Maximum call stack|is not a function|undefined \(reading|DatabaseError/gi;

/** What a text tells of the inside. Random input may spell it by chance, and be quoted: what was sent is no news. */
export const leaksIn = (text: string, sent: string): readonly string[] =>
  [...text.matchAll(INTERNAL)].map(([found]) => found).filter((found) => !sent.includes(found));

interface Body {
  readonly data?: unknown;
  readonly errors?: readonly { readonly message: string; readonly extensions?: { readonly code?: string } }[];
}

/**
 * Expects what the contract promises of every response, whatever was sent (contract: errors): no 5xx, codes of the closed set, and
 * nothing internal that was not `sent`. Returns the codes.
 */
export async function expectClosedSet(response: Response, sent = ''): Promise<string[]> {
  const text = await response.text();
  expect(response.status, text).toBeLessThan(500);
  expect(response.headers.get('content-type')).toMatch(/json/);
  const { data, errors = [] } = JSON.parse(text) as Body;
  expect(data !== undefined || errors.length > 0, text).toBe(true);
  for (const { message, extensions } of errors) {
    expect(Object.keys(ERRORS), text).toContain(extensions?.code);
    expect(extensions?.code, text).not.toBe('INTERNAL_SERVER_ERROR');
    expect(leaksIn(message, sent), text).toEqual([]);
    expect(leaksIn(JSON.stringify(extensions), sent), text).toEqual([]);
  }
  return errors.map(({ extensions }) => extensions?.code ?? '');
}
