import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';

/** The folder of the project. Its Markdown files are the pages of the site. */
export const ROOT = resolve(import.meta.dirname, '../..');

/** The path of a page in the site, by the path of its file. Only `docs/` has short paths. */
export function toSitePath(file: string): string {
  // docs/README.md is the first page of the site.
  if (file === 'README.md') return 'start.md';
  return file.replace(/^docs\//, '').replace(/(^|\/)README\.md$/, '$1index.md');
}

/** Where a relative link of a file leads. */
export type Target =
  | { readonly kind: 'page'; readonly path: string }
  | { readonly kind: 'file'; readonly path: string };

/**
 * Finds what a link without its anchor names. A folder stands for its README.
 * @throws {Error} if there is no such file
 */
export function findTarget(from: string, href: string): Target {
  const path = posix.join(posix.dirname(from), href).replace(/\/$/, '');
  const absolute = join(ROOT, path);
  if (!existsSync(absolute)) throw new Error(`${from} links to ${href}, which does not exist`);
  const file = statSync(absolute).isDirectory() ? posix.join(path, 'README.md') : path;
  return file.endsWith('.md') ? { kind: 'page', path: `/${toSitePath(file)}` } : { kind: 'file', path: file };
}

export interface SidebarItem {
  readonly text: string;
  readonly link: string;
}

export interface SidebarGroup {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: readonly SidebarItem[];
}

const findItems = (file: string, text: string): SidebarItem[] =>
  [...text.matchAll(/^- \[([^\]]+)\]\(([^)#]+)\)/gm)].map(([, name = '', href = '']) => ({
    text: name,
    link: findTarget(file, href).path,
  }));

const CLOSED = new Set(['Contribute', 'Decisions']);

/** The groups and pages of docs/README.md, which readers on a code host use in place of a sidebar. */
export function readSidebar(): SidebarGroup[] {
  const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
  const [, ...sections] = read('docs/README.md').split(/^## /m);
  return sections.map((section) => {
    const text = section.slice(0, section.indexOf('\n'));
    const index = 'docs/decisions/README.md';
    const items = text === 'Decisions' ? findItems(index, read(index)) : findItems('docs/README.md', section);
    return { text, collapsed: CLOSED.has(text), items };
  });
}
