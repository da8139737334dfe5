import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { unlessMissing } from './pages.ts';

const ROOT = new URL('../../', import.meta.url);
const EXAMPLES = 'examples/';

/** What is made in the folder, and belongs to nobody's repository (.gitignore). */
const MADE =
  /^(\..*|node_modules|__pycache__|dist|generated|__generated__|wrong-.*|graphql-env\.d\.ts|documents\.json)$/;
/** Written by npm, for npm. */
const LOCK = 'package-lock.json';

/** The language of a file by its ending. Files of other kinds are not shown; Markdown has pages. */
const LANGUAGES: Readonly<Record<string, string>> = {
  '.css': 'css',
  '.graphql': 'graphql',
  '.html': 'xml',
  '.json': 'json',
  '.mjs': 'javascript',
  '.py': 'python',
  '.sh': 'bash',
  '.svg': 'xml',
  '.ts': 'typescript',
  '.tsx': 'typescript',
  '.yml': 'yaml',
};

/** A symbolic link is neither a file nor a folder: nothing leads out. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = (await unlessMissing(readdir(new URL(folder, ROOT), { withFileTypes: true }))) ?? [];
  const kept = entries.filter(({ name }) => !MADE.test(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
  const files = kept
    .filter((entry) => entry.isFile() && entry.name !== LOCK && extname(entry.name) in LANGUAGES)
    .map(({ name }) => folder + name);
  const folders = kept.filter((entry) => entry.isDirectory());
  const below = await Promise.all(folders.map(({ name }) => filesBelow(`${folder}${name}/`)));
  return [...files, ...below.flat()];
}

/** The files of `examples/` that are made to be read, from the root of the repository. */
export const exampleFiles = (): Promise<string[]> => filesBelow(EXAMPLES);

export const languageOf = (file: string): string => LANGUAGES[extname(file)] ?? '';

/** The text of a file of `exampleFiles`, and of no other. */
export const readExample = (file: string): Promise<string> => readFile(new URL(file, ROOT), 'utf8');
