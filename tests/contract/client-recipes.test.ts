import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blocksOf, pathOf } from '../support/docs/markdown.ts';

const ROOT = join(import.meta.dirname, '../..');

describe.each(['docs/clients.md', 'docs/react.md', 'docs/trusted-documents.md'])('%s', (page) => {
  /** Blocks that are under the path of a file. */
  const shown = blocksOf(readFileSync(join(ROOT, page), 'utf8')).flatMap((block) => {
    const path = pathOf(block);
    return path?.startsWith('examples/') ? [{ path, text: block.text }] : [];
  });

  it('shows files', () => {
    expect(shown.length).toBeGreaterThan(5);
  });

  it.each(shown)('shows $path as it is', ({ path, text }) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toContain(text);
  });
});
