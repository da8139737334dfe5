import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findWordingHits } from './wording/find-words.ts';

const ROOT = join(import.meta.dirname, '../..');
const STYLE_GUIDE = 'docs/contributing/style.md';
const SUBJECT =
  /^(?:feat|fix|perf|refactor|docs|test|build|ci|chore)(?:\([a-z0-9 ,/_-]+\))?!?: [^A-Z\s].*[^.]$/;

describe('the style guide', () => {
  it('holds for every text', () => {
    const hits = findWordingHits().map(
      ({ file, line, found, advice }) => `${file}:${line} “${found}”: ${advice}`,
    );
    expect(hits, `rewrite the sentence; ${STYLE_GUIDE} says how`).toEqual([]);
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
