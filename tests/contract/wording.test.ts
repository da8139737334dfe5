import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { countHits, findWordingHits } from './wording/find-words.ts';

const ROOT = join(import.meta.dirname, '../..');
const ALLOWED = join(import.meta.dirname, 'wording/allowed.json');
const STYLE_GUIDE = 'docs/contributing/style.md';
const SUBJECT =
  /^(?:feat|fix|perf|refactor|docs|test|build|ci|chore)(?:\([a-z0-9 ,/_-]+\))?!?: [^A-Z\s].*[^.]$/;

const hits = findWordingHits();
const counts = countHits(hits);
const allowed: Record<string, Record<string, number>> = JSON.parse(readFileSync(ALLOWED, 'utf8'));
const entries = (table: typeof allowed) =>
  Object.entries(table).flatMap(([file, rules]) =>
    Object.entries(rules).map(([rule, count]) => ({ file, rule, count })),
  );

describe('the style guide', () => {
  it('holds for every new text', () => {
    const above = entries(counts)
      .filter(({ file, rule, count }) => count > (allowed[file]?.[rule] ?? 0))
      .flatMap(({ file, rule }) => hits.filter((hit) => hit.file === file && hit.rule === rule))
      .map(({ file, line, found, advice }) => `${file}:${line} “${found}”: ${advice}`);
    expect(above, `rewrite the sentence; ${STYLE_GUIDE} says how`).toEqual([]);
  });

  it('allows no more hits than there are', () => {
    const below = entries(allowed)
      .filter(({ file, rule, count }) => count > (counts[file]?.[rule] ?? 0))
      .map(({ file, rule }) => `${file}: ${rule}`);
    expect(below, 'run "npm run wording:shrink", which lowers the numbers in allowed.json').toEqual([]);
  });

  it('allows no hit in names and messages', () => {
    const inCode = entries(allowed).filter(({ rule }) => /^(?:names|messages): |in messages$/.test(rule));
    expect(inCode).toEqual([]);
  });
});

describe.runIf(existsSync(join(ROOT, '.git')))('commit subjects since the style guide', () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();

  it('have a type, an imperative summary and at most 72 characters', () => {
    const [added = ''] = git('log', '--diff-filter=A', '--format=%H', '--', STYLE_GUIDE).split('\n');
    const subjects =
      added === '' ? [] : git('log', '--no-merges', '--format=%s', `${added}..HEAD`).split('\n');
    const wrong = subjects.filter(
      (subject) => subject !== '' && (!SUBJECT.test(subject) || subject.length > 72),
    );
    expect(wrong, `the form is "type(scope): summary", as ${STYLE_GUIDE} says`).toEqual([]);
  });
});
