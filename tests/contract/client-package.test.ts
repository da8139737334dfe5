import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatApi } from '../../packages/client/print-api.ts';
import { countLines } from '../../scripts/count-lines.ts';
import { ERRORS } from '../../src/platform/errors.ts';

const PACKAGE = join(import.meta.dirname, '../../packages/client');
const MAX_LINES = 400;

const read = (path: string) => readFileSync(join(PACKAGE, path), 'utf8');

describe('packages/client', () => {
  it('has the error codes of the service, and no others', () => {
    const [, union = ''] = /export type ServiceCode =([^;]+);/.exec(read('src/errors.ts')) ?? [];
    const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code);
    expect(codes.toSorted()).toEqual(Object.keys(ERRORS).toSorted());
  });

  it.each(globSync('src/**/*.ts', { cwd: PACKAGE }))(`has at most ${MAX_LINES} lines in %s`, (path) => {
    expect(countLines(read(path), '.ts')).toBeLessThanOrEqual(MAX_LINES);
  });

  it('has a reference of its public exports, each with a comment', () => {
    const api = formatApi();
    expect(read('API.md'), 'run node packages/client/print-api.ts').toBe(api);
    const blocks = [...api.matchAll(/^```ts\n(.*)/gm)].map(([, line]) => line);
    expect(blocks.filter((line) => line?.startsWith('/**') !== true)).toEqual([]);
  });

  it('has no dependencies, and development tools only from the root', () => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json'));
    expect({ dependencies, devDependencies }).toEqual({});
  });
});
