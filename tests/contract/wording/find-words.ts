import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findDocsPassages, findSourcePassages, type Passage } from './passages.ts';
import words from './words.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '../../..');
const MAX_SENTENCE_WORDS = 30;
const MAX_CELL_WORDS = 25;
const MAX_PAGE_WORDS = 1_500;
/** Cells of these pages are descriptions of the schema, of log events and of settings, whose sentences have a limit. */
const GENERATED = new Set([
  'docs/reference/api.md',
  'docs/operate/logging.md',
  'docs/operate/configuration.md',
]);

/** A place that the style guide asks to change. */
export interface WordingHit {
  readonly file: string;
  readonly line: number;
  readonly found: string;
  readonly advice: string;
}

const PATTERNS = words.map(({ pattern, use, in: kinds }) => ({
  regex: new RegExp(pattern, 'gi'),
  kinds: new Set(kinds),
  use,
}));

const countWords = (text: string) => text.split(/\s+/).filter((word) => /\w/.test(word)).length;

function findPatterns(file: string, { kind, line, text }: Passage): WordingHit[] {
  const scope = kind === 'cells' ? 'docs' : kind;
  return PATTERNS.filter(({ kinds }) => kinds.has(scope)).flatMap(({ regex, use }) =>
    [...text.matchAll(regex)].map(([found]) => ({
      file,
      line,
      found,
      advice: `write ${use}`,
    })),
  );
}

function findSizes(file: string, { kind, line, text }: Passage): WordingHit[] {
  if (kind === 'cells')
    return !GENERATED.has(file) && countWords(text) > MAX_CELL_WORDS
      ? [{ file, line, found: text.trim(), advice: `use at most ${MAX_CELL_WORDS} words` }]
      : [];
  if (kind === 'names') return [];
  return text
    .split(/(?<=[.!?:;])\s/)
    .filter((sentence) => countWords(sentence) > MAX_SENTENCE_WORDS)
    .map((found) => ({
      file,
      line,
      found,
      advice: `use at most ${MAX_SENTENCE_WORDS} words`,
    }));
}

function readPassages(file: string): Passage[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  if (!file.endsWith('.md')) return findSourcePassages(file, text);
  return findDocsPassages(text);
}

/** A table of contents is a list of links to headings of the page. */
const isReferenceWithContents = (file: string): boolean =>
  /^docs\/(?:reference|operate)\//.test(file) &&
  /(?:^- \[.*\]\(#.*\n){3,}/m.test(readFileSync(join(ROOT, file), 'utf8'));

const list = (pattern: string, exclude: string[] = []) => globSync(pattern, { cwd: ROOT, exclude }).sort();

/** Every hit of the word list and of the size rules in pages, sources and the client package. */
export function findWordingHits(): WordingHit[] {
  const pages = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    ...list('docs/**/*.md', ['docs/node_modules/**']),
  ];
  const sources = [
    ...list('src/**/*.{ts,tsx}', ['src/generated/**']),
    ...list('packages/*/src/**/*.{ts,tsx}'),
  ];
  return [...pages, ...sources].flatMap((file) => {
    const passages = readPassages(file);
    const hits = passages.flatMap((passage) => [...findPatterns(file, passage), ...findSizes(file, passage)]);
    const total = passages.reduce(
      (sum, { kind, text }) => sum + (kind === 'docs' || kind === 'cells' ? countWords(text) : 0),
      0,
    );
    if (total > MAX_PAGE_WORDS && !isReferenceWithContents(file))
      hits.push({
        file,
        line: 1,
        found: `${total} words`,
        advice: `split at ${MAX_PAGE_WORDS} words`,
      });
    return hits;
  });
}
