import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TextRule } from '../../src/engine/core/input.ts';
import { SETTING_NAMES } from '../../src/platform/config/setting-table.ts';
import { ERRORS } from '../../src/platform/errors.ts';
import { CONTENT_LIMITS } from '../../src/schema/content-limits.ts';
import { blocksOf } from '../support/docs/markdown.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const rowsOf = (page: string) => page.split('\n').filter((line) => line.startsWith('| '));
const headingsOf = (page: string) => [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);

const errors = read('docs/reference/errors.md');
const limits = read('docs/reference/limits.md');

describe('docs/reference/errors.md', () => {
  const codes = Object.entries(ERRORS);

  it.each(codes)('has a section with an example of %s, and its status in the table', (code, { status }) => {
    const [, section = ''] = errors.split(`\n### ${code}\n`);
    expect(section.split('\n### ')[0]).toContain(`"code":"${code}"`);
    const row = rowsOf(errors).find((line) => line.includes(`\`${code}\``));
    expect(row).toContain(code === 'EVENT_HISTORY_EXPIRED' ? 'in the stream' : `${status}`);
  });

  it('has sections for no other codes', () => {
    const sections = headingsOf(errors).filter((heading) => /^[A-Z_]+$/.test(heading));
    expect(sections.filter((heading) => !(heading in ERRORS))).toEqual([]);
  });

  it('shows messages that the service has, where no command prints them', () => {
    const source = globSync('src/**/*.ts', { cwd: ROOT, exclude: ['src/generated/**'] })
      .map(read)
      .join();
    const shown = blocksOf(errors).filter(
      ({ language, text }) => language === 'json' && text.startsWith('{"'),
    );
    expect(shown.length).toBeGreaterThan(3);
    for (const { text } of shown)
      for (const { message } of JSON.parse(text).errors)
        for (const words of message.split(/10000|[0-9a-f]{8}-[0-9a-f-]{27}/))
          expect(source.includes(words), words).toBe(true);
  });
});

describe('docs/reference/limits.md', () => {
  const IS_LIMIT = /^(MAX_|RATE_LIMIT_|AUTH_FAILURE_|ACCOUNT_RATE_LIMIT_)|_(TIMEOUT_MS|RETENTION_HOURS)$/;
  const defaults = [...read('.env.example').matchAll(/^([A-Z_]+)=(\d+)$/gm)]
    .map(([, name = '', value]) => ({ name, value: Number(value).toLocaleString('en') }))
    .filter(({ name }) => IS_LIMIT.test(name));

  it('knows the settings that are limits', () => {
    expect(
      defaults.map(({ name }) => name),
      'each limit in src/platform/config/setting-table.ts needs a line NAME=default in .env.example, in the same order',
    ).toEqual(SETTING_NAMES.filter((name) => IS_LIMIT.test(name)));
  });

  it.each(defaults)('has $name with its default, $value', ({ name, value }) => {
    const row = rowsOf(limits).find((line) => line.split(' | ')[2]?.includes(`\`${name}\``)) ?? '';
    expect(
      row.split(' | ')[1]?.replace(/ \(.*/, ''),
      `a table of docs/reference/limits.md must have the row: | what is limited | ${value} | \`${name}\` | what comes above it |`,
    ).toBe(value);
  });

  it('names no setting that does not exist', () => {
    const named = [...limits.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map(([, name = '']) => name);
    const unknown = named.filter((name) => !(name in ERRORS || SETTING_NAMES.includes(name)));
    expect(
      unknown,
      `docs/reference/limits.md names ${unknown}, which is no setting and no error code`,
    ).toEqual([]);
  });
});

describe('docs/reference/schema.md', () => {
  const { account, profile, post, comment } = CONTENT_LIMITS;
  const lengthOf = ({ min, max }: TextRule) => `${min} to ${max.toLocaleString('en')}`;
  /** The beginnings of rows of the table of strings, and what they say. */
  const STATED = [
    ['`title` of a post', lengthOf(post.title)],
    ['`body` of a post', lengthOf(post.body)],
    ['`body` of a comment', lengthOf(comment.body)],
    ['a tag', lengthOf(post.tag)],
    ['a tag', `at most ${post.maxTags} tags`],
    ['`handle` of a user', lengthOf(profile.handle)],
    ['`bio` of a user', lengthOf(profile.bio)],
    ['`avatarUrl` of a user', lengthOf(profile.avatarUrl)],
    ['`name` of `createApiKey`', lengthOf(account.keyName)],
  ] as const;

  it.each(STATED)('says of %s: %s', (what, stated) => {
    const row = read('docs/reference/schema.md')
      .split('\n')
      .find((line) => line.startsWith(`| ${what} |`));
    expect(
      row,
      `src/schema/content-limits.ts has another number than the row "${what}" of docs/reference/schema.md. docs/contributing/other-changes.md, "Changing a number of the product", says what follows from a change`,
    ).toMatch(new RegExp(`[| ]${stated}\\b`));
  });
});

describe('tests/support/README.md', () => {
  it('has a row for each file of the folder, and for nothing else', () => {
    const listed = rowsOf(read('tests/support/README.md')).flatMap(
      (row) => /^\| `([^`]+)`/.exec(row)?.[1] ?? [],
    );
    const found = globSync('**/*.{ts,mjs}', { cwd: join(ROOT, 'tests/support') });
    expect(listed.toSorted()).toEqual(found.toSorted());
  });
});
