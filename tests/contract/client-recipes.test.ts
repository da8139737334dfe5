import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blocksOf, pathOf } from '../support/docs/markdown.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Pages, and how many files they show at least. */
const PAGES = [
  ['docs/clients.md', 6],
  ['docs/react.md', 6],
  ['docs/trusted-documents.md', 6],
  ['docs/python.md', 2],
  ['docs/oauth-in-a-page.md', 3],
] as const;

describe.each(PAGES)('%s', (page, files) => {
  /** Blocks that are under the path of a file. */
  const shown = blocksOf(readFileSync(join(ROOT, page), 'utf8')).flatMap((block) => {
    const path = pathOf(block);
    return path?.startsWith('examples/') ? [{ path, text: block.text }] : [];
  });

  it('shows files', () => {
    expect(shown.length).toBeGreaterThanOrEqual(files);
  });

  it.each(shown)('shows $path as it is', ({ path, text }) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toContain(text);
  });
});
