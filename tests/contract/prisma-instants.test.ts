import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** The fields of the schema that are instants. */
const instants = [
  ...new Set([...read('prisma/schema.prisma').matchAll(/^ +(\w+) +DateTime\b/gm)].map(([, name]) => name)),
];

/** The text of each call of Prisma's client, with the file that it is in. */
const calls = globSync('src/**/*.ts', { cwd: ROOT, exclude: ['src/generated/**'] }).flatMap((file) =>
  read(file)
    .split(/(?=prisma\.\w+\.\w+\()/)
    .slice(1)
    .map((text) => ({ file, text: text.slice(0, text.indexOf(';')) })),
);

// Prisma's adapter writes and reads instants without a zone, and dates what it creates by this machine's clock (decision 28).
describe('No instant goes through Prisma', () => {
  it('has calls to look at, and instants to look for', () => {
    expect(calls.length).toBeGreaterThan(0);
    expect(instants).toEqual(expect.arrayContaining(['createdAt', 'expiresAt', 'revokedAt']));
  });

  it.each(calls)('$file: $text', ({ text }) => {
    const [, method = ''] = /^prisma\.\w+\.(\w+)/.exec(text) ?? [];
    // What creates rows has their dates by default, and what returns rows has them unless others are selected.
    expect(['update', 'delete', 'updateMany', 'deleteMany']).toContain(method);
    if (!method.endsWith('Many')) expect(text).toMatch(/\bselect: \{/);
    expect(text.match(/\b\w+\b/g)?.filter((word) => instants.includes(word))).toEqual([]);
  });
});
