import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';

const REMEDY =
  'A path is answered by a route: add the path to PATHS and its properties to CORE_ROUTES, both in src/http/routes/table.ts. docs/contributing/recipes/route.md has the steps, and says where the paths of a feature go.';

/** Where paths are written: with the routes that answer them. */
const HOMES = [
  'http/routes/table.ts',
  'features/graphiql/routes.ts',
  'features/account-pages/paths.ts',
  'features/oauth/paths.ts',
  'features/development/example.ts',
];

/** All that look at the path of a request, and why. What differs by path is in `state.route`; `platform` and `database` know no request. */
const READERS = new Map([
  ['http/message.ts', 'declares the URL of a request'],
  ['http/server/request-head.ts', 'refuses paths that are not in normal form'],
  ['http/yoga/use-engine.ts', 'leaves all other paths to the Yoga server that has the engine'],
  ['http/routes/table.ts', 'finds the route, and tells the targets that every parser reads the same way'],
  ['http/hooks/access-log.ts', 'gives the path to log and traces'],
  ['features/graphiql/routes.ts', 'finds a file below the path of its route'],
  ['features/development/example.ts', 'finds a file below the path of its route'],
  ['features/oauth/paths.ts', 'reads the parameter in the path of its routes'],
]);

/** A text that begins like a path, and is no file of Linux. The end of a regular expression in quotes is none. */
const PATH = /(?<![\w)\]])['"`](\/(?!proc\/|dev\/|etc\/|tmp\b)[\w.:$][^'"`]*)|\bpath: ['"`](\/)['"`]/g;
/** The path of a request, or a test of its address. */
const LOOK =
  /\bpathname\b|\b(?:url|href)(?:\)? [!=]==|\.(?:\w+Of|at|endsWith|includes|match\w*|replace\w*|search|slice|split|startsWith|substring)\()|\b(?:exec|test)\((?:\w+\.)*(?:url|href)\)|switch \((?:\w+\.)*(?:url|href)\)/g;
const COMMENT = /^\s*(?:\/?\*|\/\/)/;

const SRC = join(import.meta.dirname, '../../src');
const files = globSync('**/*.ts', { cwd: SRC })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !/^generated\/|\/browser\//.test(path))
  .map((path) => ({ path, lines: readFileSync(join(SRC, path), 'utf8').split('\n') }));

/** All that matches in a file, comments aside. */
const matchesIn = ({ path, lines }: (typeof files)[number], pattern: RegExp) =>
  lines.flatMap((line, index) =>
    COMMENT.test(line)
      ? []
      : [...line.matchAll(pattern)].map(([whole, ...groups]) => ({
          text: groups.find((group) => group !== undefined) ?? whole,
          place: `src/${path}:${index + 1}: ${line.trim()}`,
        })),
  );
const placesOf = (pattern: RegExp, isLookedAt: (path: string) => boolean) =>
  files
    .filter(({ path }) => isLookedAt(path))
    .flatMap((file) => matchesIn(file, pattern).map(({ place }) => place));

it('a path is written with the routes that answer it, and nowhere else', () => {
  expect(
    placesOf(PATH, (path) => !HOMES.includes(path)),
    REMEDY,
  ).toEqual([]);
});

it('nothing but the table compares paths', () => {
  const known = 'A file that reads paths for another reason is listed with it in READERS of this test.';
  expect(
    placesOf(LOOK, (path) => !READERS.has(path) && !/^(?:platform|database)\//.test(path)),
    `${REMEDY} ${known}`,
  ).toEqual([]);
  const reading = files.filter((file) => matchesIn(file, LOOK).length > 0).map(({ path }) => path);
  expect(
    [...READERS.keys()].filter((path) => !reading.includes(path)),
    'These files read no path: remove them from READERS of this test',
  ).toEqual([]);
});

it('no plugin knows a path: what differs by path is in the routes', () => {
  const plugins = files.filter(({ lines }) => lines.some((line) => line.includes('ServicePlugin')));
  expect(plugins.length).toBeGreaterThan(5);
  const knowing = plugins.flatMap((file) => matchesIn(file, /\w*PATHS\b/g).map(({ place }) => place));
  expect(knowing, REMEDY).toEqual([]);
});

const app = useApp({ settings: { NODE_ENV: 'development' } });

it('each path that is written has a route', () => {
  const responded = new Set(app.app.routes.map(({ path }) => path));
  const written = files.filter(({ path }) => HOMES.includes(path)).flatMap((file) => matchesIn(file, PATH));
  expect(written.length).toBeGreaterThan(20);
  const withoutResponse = written.filter(({ text }) => !responded.has(text) && !responded.has(`${text}*`));
  expect(
    withoutResponse.map(({ place }) => place),
    REMEDY,
  ).toEqual([]);
});
