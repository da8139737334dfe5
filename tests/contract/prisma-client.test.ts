import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

const sources = globSync('src/**/*.ts', { cwd: ROOT, exclude: ['src/generated/**'] }).map((file) => ({
  file,
  text: readFileSync(join(ROOT, file), 'utf8'),
}));

/** The text of each call of Prisma Client from its method on, with the file that it is in. */
const calls = sources.flatMap(({ file, text }) =>
  text
    .split(/(?=prisma\.\w+\.\w+\()/)
    .slice(1)
    .map((part) => ({ file, text: part.slice(0, part.indexOf(';')) })),
);

/** Where commands are, and what only they call. */
const COMMANDS =
  /^src\/(?:admin\/|auth\/(?:all-accounts|data-export)\.ts|features\/(?:development\/|[\w-]+\/commands\.ts))/;

// docs/decisions/0028-session-settings.md
describe('Prisma Client', () => {
  it('is created in one module, on a connection of a unit of work', () => {
    const creators = sources.filter(({ text }) => /new Prisma(?:Client|Pg)\(/.test(text));
    expect(creators.map(({ file }) => file)).toEqual(['src/database/unit-of-work.ts']);
  });

  it('is called', () => {
    expect(calls.length).toBeGreaterThan(10);
  });

  it.each(calls)('neither dates rows nor asks the clock of the process: $file: $text', ({ text }) => {
    expect(text).not.toMatch(/^prisma\.\w+\.(?:create|upsert)|^prisma\.\$|new Date\b|Date\.now|[cC]lock/);
  });

  it.each(calls)('reads for commands only: $file: $text', ({ file, text }) => {
    if (!/^prisma\.\w+\.(?:updateMany|deleteMany)\(/.test(text)) expect(file).toMatch(COMMANDS);
  });
});
