import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** From the opening parenthesis of a call to the one that closes it. */
function argumentsAt(source: string, start: number): string {
  let depth = 0;
  for (let index = start; index < source.length; index += 1) {
    if (source[index] === '(') depth += 1;
    if (source[index] === ')') depth -= 1;
    if (depth === 0) return source.slice(start, index);
  }
  return source.slice(start);
}

/** The literals of a call, up to what is filled in. */
function literalsOf(source: string, start: number): string[] {
  const literals = argumentsAt(source, start).matchAll(/'([^']+)'|`([^`]+)`/g);
  return [...literals].map(([, plain, template]) => (plain ?? template?.split('${')[0] ?? '').trim());
}

/** The texts that a file logs, from `info` on: the last literal of each call, and all of an outage's. */
function messagesIn(source: string): string[] {
  const calls = source.matchAll(
    /\b\w*(?:log|lines|logins)\w*(?:\([^)]*\))?\.(?:info|warn|error|fatal)(?=\()/gi,
  );
  const outages = source.matchAll(/\bcreateOutageReporter(?=\()/g);
  return [
    ...[...calls].flatMap(({ 0: call, index }) => literalsOf(source, index + call.length).slice(-1)),
    ...[...outages].flatMap(({ 0: call, index }) => literalsOf(source, index + call.length)),
  ];
}

const files = globSync('src/**/*.ts', { cwd: ROOT, exclude: ['src/generated/**', '**/browser/**'] });
const messages = [...new Set(files.flatMap((file) => messagesIn(read(file))))].filter(
  (message) => message !== '',
);

describe('docs/log.md', () => {
  const page = read('docs/log.md');

  it('is compared with the messages of the code', () => {
    expect(messages).toEqual(expect.arrayContaining(['request', 'failed login', 'listening']));
    expect(messages.length).toBeGreaterThan(30);
  });

  it.each(messages)('has the message "%s"', (message) => {
    expect(page.includes(`\`${message}`)).toBe(true);
  });
});

describe('docs/dependencies.md', () => {
  it('has a line for each dependency, and for no other', () => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json'));
    const listed = [...read('docs/dependencies.md').matchAll(/^\| `([^`]+)` \| .{5,}$/gm)].map(
      ([, name]) => name,
    );
    expect(listed).toEqual([...Object.keys(dependencies), ...Object.keys(devDependencies)]);
  });
});
