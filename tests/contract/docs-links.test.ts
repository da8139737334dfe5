import { execFileSync } from 'node:child_process';
import { existsSync, globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exampleFiles } from '../../src/development/example-files.ts';
import { DECISIONS } from '../../src/development/groups.ts';
import { renderMarkdown, resolveLink } from '../../src/development/markdown.ts';
import { readPages } from '../../src/development/pages.ts';

const ROOT = join(import.meta.dirname, '../..');
const MAX_PICTURE_BYTES = 150_000;

const pages = await readPages();
const files = new Set(pages.map(({ file }) => file));
const rendered = new Map(
  pages.map(({ file, text }) => [file, renderMarkdown(text, { file, pages: files })] as const),
);
const isExternal = (href: string) => /^[a-z]+:/.test(href);

describe('README, CONTRIBUTING and the pages of docs', () => {
  it('are all there', () => {
    const written = globSync(['README.md', 'CONTRIBUTING.md', 'docs/**/*.md'], { cwd: ROOT });
    expect(
      written.filter((file) => !files.has(file)),
      'each page needs a place in a group of src/development/groups.ts',
    ).toEqual([]);
    expect(pages).toHaveLength(files.size);
  });

  it('say in the list what they are about', () => {
    const silent = pages.filter(
      ({ group, summary }) => group !== DECISIONS && !/^[A-Z].{20,}[.]$/.test(summary),
    );
    expect(
      silent.map(({ file }) => file),
      'the first sentence of each page says what it is about, or SUMMARIES in src/development/groups.ts does',
    ).toEqual([]);
  });

  it('link to files that exist and to headings that these have', () => {
    const dead = [...rendered].flatMap(([from, { links }]) =>
      links
        .filter((href) => !isExternal(href))
        .filter((href) => {
          const { file, hash } = resolveLink(from, href);
          if (!existsSync(join(ROOT, file))) return true;
          return hash !== '' && !rendered.get(file)?.headings.some(({ id }) => `#${id}` === hash);
        })
        .map((href) => `${from}: ${href}`),
    );
    expect([...rendered.values()].flatMap(({ links }) => links).length).toBeGreaterThan(50);
    expect(dead).toEqual([]);
  });

  it('show pictures that exist', () => {
    const missing = [...rendered].flatMap(([from, { pictures }]) =>
      pictures
        .filter((href) => !isExternal(href) && !existsSync(join(ROOT, resolveLink(from, href).file)))
        .map((href) => `${from}: ${href}`),
    );
    expect(missing).toEqual([]);
  });

  it('have pictures that load quickly', () => {
    const heavy = globSync('docs/images/*', { cwd: ROOT }).filter(
      (file) => statSync(join(ROOT, file)).size >= MAX_PICTURE_BYTES,
    );
    expect(heavy).toEqual([]);
  });
});

/** A copy of the sources has no repository. */
describe.runIf(existsSync(join(ROOT, '.git')))('the files of examples on the site', () => {
  it('are those that the repository has, without what only tools read', async () => {
    const listed = execFileSync(
      'git',
      ['ls-files', '--cached', '--others', '--exclude-standard', '-z', 'examples'],
      { cwd: ROOT, encoding: 'utf8' },
    );
    const read = listed
      .split('\0')
      .filter((file) => existsSync(join(ROOT, file)))
      .filter((file) => /[^/]\.[a-z]+$/.test(file) && !/(\.md|package-lock\.json|\/\.[^/]*)$/.test(file));
    expect((await exampleFiles()).toSorted()).toEqual(read.toSorted());
  });
});
