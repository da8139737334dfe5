import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EXAMPLE } from '../../src/development/example.ts';
import { DOCS } from '../../src/development/pages.ts';
import { PATHS } from '../../src/http/routes/table.ts';
import { OAUTH_PATHS } from '../../src/oauth/server/paths.ts';

const SRC = join(import.meta.dirname, '../../src');
/** Where paths are: the table, and one file of each feature that brings routes of its own. */
const HOMES = new Set([
  'http/routes/table.ts',
  'oauth/server/paths.ts',
  'development/example.ts',
  'development/pages.ts',
]);
const COMMENT = /^\s*(?:\/?\*|\/\/)/;
const LITERAL = /['"`](\/[\w.-]+)/g;
/** A route that is written with its path, not a file of Linux. */
const OWN_PATH = /\bpath: ['"`](\/(?!proc\/)[^'"`]*)/g;

const firstSegment = (path: string) => /^\/[^/]+/.exec(path)?.[0];
const known = new Set(
  [...Object.values(PATHS), ...Object.values(OAUTH_PATHS), EXAMPLE, DOCS].map(firstSegment),
);

it('a path of the service is written in the table of routes, and nowhere else', () => {
  const elsewhere = globSync('**/*.ts', { cwd: SRC })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !HOMES.has(path) && !/^generated\/|\/browser\//.test(path))
    .flatMap((path) =>
      readFileSync(join(SRC, path), 'utf8')
        .split('\n')
        .filter((line) => !COMMENT.test(line))
        .flatMap((line) => [
          ...[...line.matchAll(LITERAL)].map(([, literal = '']) => literal).filter((one) => known.has(one)),
          ...[...line.matchAll(OWN_PATH)].map(([, literal = '']) => literal),
        ])
        .map((literal) => `${path}: "${literal}" belongs in src/http/routes/table.ts; import it from there`),
    );
  expect(elsewhere).toEqual([]);
});

it('no plugin knows a path: what differs by path is in the routes', () => {
  const plugins = globSync('http/**/use-*.ts', { cwd: SRC });
  expect(plugins.length).toBeGreaterThan(5);
  const knowing = plugins.filter((path) => readFileSync(join(SRC, path), 'utf8').includes('routes/table.ts'));
  expect(knowing).toEqual([]);
});
