import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorsOf, linksOf } from '../support/docs/markdown.ts';

const ROOT = join(import.meta.dirname, '../..');
const MAX_PICTURE_BYTES = 150_000;
const isExternal = (href: string) => /^[a-z]+:/i.test(href);

/** The introduction of docs/reference/api.md has links as that page needs them. */
const PART_OF_A_PAGE = 'scripts/api-docs/intro.md';
const files = globSync('**/*.md', { cwd: ROOT, exclude: ['**/node_modules/**', '.*/**', PART_OF_A_PAGE] });
const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));

/** Tells what is wrong with a relative link of a file. */
function problemOf(from: string, href: string): string | undefined {
  const [path = '', anchor] = href.split('#');
  const target = path === '' ? from : posix.join(posix.dirname(from), path);
  if (!existsSync(join(ROOT, target))) return 'no such file';
  if (anchor === undefined) return undefined;
  const text = texts.get(target);
  return text !== undefined && anchorsOf(text).has(anchor) ? undefined : 'no such heading';
}

describe('the Markdown files of the repository', () => {
  it('link to files that exist and to headings that these have', () => {
    const links = [...texts].flatMap(([file, text]) => linksOf(text).map((href) => ({ file, href })));
    const relative = links.filter(({ href }) => !isExternal(href));
    expect(relative.length).toBeGreaterThan(500);
    const dead = relative.flatMap(({ file, href }) => {
      const problem = problemOf(file, href);
      return problem === undefined ? [] : `${file}: ${href}: ${problem}`;
    });
    expect(dead, 'correct these links, or the paths and headings that they name').toEqual([]);
  });

  it('can all be reached from README by links', () => {
    const reached = new Set(['README.md']);
    for (const file of reached)
      for (const href of linksOf(texts.get(file) ?? '')) {
        const target = posix.join(posix.dirname(file), href.split('#')[0] ?? '');
        if (!isExternal(href) && texts.has(target)) reached.add(target);
      }
    const lost = files.filter((file) => /^(docs\/.+|[A-Z]+)\.md$/.test(file) && !reached.has(file));
    expect(lost, 'link each page of docs/ from README.md or from a page that README.md leads to').toEqual([]);
  });

  it('have pictures that load quickly', () => {
    const heavy = globSync('docs/images/*', { cwd: ROOT }).filter(
      (file) => statSync(join(ROOT, file)).size >= MAX_PICTURE_BYTES,
    );
    expect(heavy, `compress these pictures below ${MAX_PICTURE_BYTES} bytes`).toEqual([]);
  });
});
