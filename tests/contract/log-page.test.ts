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

/** The texts that a file logs, from `info` on: the last literal of each call, up to what is filled in. */
function messagesIn(source: string): string[] {
  const calls = source.matchAll(
    /\b\w*(?:log|lines|logins)\w*(?:\([^)]*\))?\.(?:info|warn|error|fatal)(?=\()/gi,
  );
  return [...calls].flatMap(({ 0: call, index }) => {
    const literals = [...argumentsAt(source, index + call.length).matchAll(/'([^']+)'|`([^`]+)`/g)];
    const [, plain, template] = literals.at(-1) ?? [];
    const message = plain ?? template?.split('${')[0];
    return message === undefined ? [] : [message.trim()];
  });
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
