import { readdir, readFile } from 'node:fs/promises';
import { DECISIONS, fileOf, GROUPS, OPERATION, SUMMARIES } from './groups.ts';

const ROOT = new URL('../../', import.meta.url);
/** The address of the list of pages. */
export const DOCS = '/docs/';
/** The address of the list of the files of `examples/`. */
export const EXAMPLE_FILES = `${DOCS}examples/`;

/** A Markdown file of the repository, as a page. */
export interface DocsPage {
  /** From the root of the repository. */
  readonly file: string;
  readonly path: string;
  readonly title: string;
  /** What it is about, in a sentence: its first, where that says it. */
  readonly summary: string;
  /** By its name. */
  readonly group: string;
  readonly text: string;
}

/** Titles for pages whose own say too little beside others. */
const TITLES = new Map([
  ['README.md', 'Overview'],
  ['bench/results.md', 'Benchmark results'],
  ['examples/web/README.md', 'The example page'],
]);
const PICTURE = /^(docs\/images|bench(\/charts)?)\/[\w-]+\.(png|svg)$/;
const PICTURE_TYPES = new Map([
  ['png', 'image/png'],
  ['svg', 'image/svg+xml'],
]);

/** The address of a file, whether it exists or not: `docs/events.md` is at `/docs/events`. */
export function addressOf(file: string): string {
  return (
    DOCS +
    file
      .replace(/^docs\//, '')
      .replace(/\.md$/, '')
      .replace(/^[A-Z]+$/, (name) => name.toLowerCase())
  );
}

/** Where the list of the files of `examples/` has a folder of it. */
export const folderAnchor = (folder: string): string => `#${folder.replaceAll('/', '-')}`;

/** An installation may have the code alone. */
export async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const names = (await unlessMissing(readdir(new URL(folder, ROOT)))) ?? [];
  return names.filter((name) => name.endsWith('.md')).map((name) => folder + name);
}

/** Markdown without its marks. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ');
}

async function read(file: string, group: string): Promise<DocsPage | undefined> {
  const text = await unlessMissing(readFile(new URL(file, ROOT), 'utf8'));
  if (text === undefined) return undefined;
  const title = TITLES.get(file) ?? plain(/^# (.+)$/m.exec(text)?.[1] ?? file);
  const paragraph = text.split('\n\n', 2)[1] ?? '';
  const sentence = /^(?![#|!<]|```).*?[.:](?=\s|$)/s.exec(paragraph)?.[0] ?? '';
  const summary = SUMMARIES.get(file) ?? plain(sentence).replace(/:$/, '.');
  return { file, path: addressOf(file), title, summary, group, text };
}

/** The service on this machine at its default port, in commands and links. Some are percent-encoded. */
const LOCAL_ORIGIN = /(?<=^|[^\w.-]|%2F)(localhost|127\.0\.0\.1)(:|%3A)4000(?!\d)/g;

/** Pages whose commands and links lead to the service that shows them, whatever its port is. */
export const withPort = (pages: readonly DocsPage[], port: string): readonly DocsPage[] =>
  pages.map((page) =>
    page.group === OPERATION ? page : { ...page, text: page.text.replaceAll(LOCAL_ORIGIN, `$1$2${port}`) },
  );

/** Every page, in the order of the navigation. Reads the files anew, so that edits show at once. */
export async function readPages(): Promise<DocsPage[]> {
  const decisions = (await namesIn('docs/decisions/')).sort();
  const listed = [
    ...GROUPS.flatMap(({ name, pages }) => pages.map((page) => ({ file: fileOf(page), group: name }))),
    ...decisions.map((file) => ({ file, group: DECISIONS })),
  ];
  const found = await Promise.all(listed.map(({ file, group }) => read(file, group)));
  return found.filter((page) => page !== undefined);
}

export interface DocsFile {
  readonly type: string;
  readonly body: Buffer;
}

/** A picture of the pages, or the schema. Undefined if there is none at the address. */
export async function readDocsFile(path: string): Promise<DocsFile | undefined> {
  const name = path.slice(DOCS.length);
  const isSchema = name === 'schema.graphql';
  const file = isSchema || name.startsWith('bench/') ? name : `docs/${name}`;
  const type = isSchema ? 'text/plain; charset=utf-8' : PICTURE_TYPES.get(/\.(\w+)$/.exec(file)?.[1] ?? '');
  if (type === undefined || !(isSchema || PICTURE.test(file))) return undefined;
  const body = await unlessMissing(readFile(new URL(file, ROOT)));
  return body && { type, body };
}
