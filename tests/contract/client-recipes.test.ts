import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/clients.md'), 'utf8');
/** A block that is under the path of a file. */
const SHOWN = /^`(examples\/[^`]+)`:\n\n```\w+\n([\s\S]*?)^```$/gm;
const shown = [...page.matchAll(SHOWN)].map(([, path = '', text = '']) => ({ path, text }));

describe('docs/clients.md', () => {
  it('shows files', () => {
    expect(shown.length).toBeGreaterThan(10);
  });

  it.each(shown)('shows $path as it is', ({ path, text }) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toContain(text);
  });
});
