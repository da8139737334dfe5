import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { countLines } from '../../scripts/count-lines.ts';

const ROOT = join(import.meta.dirname, '../..');
const SRC = join(ROOT, 'src');
const MAX_LINES = 400;
const MIN_LINES = 40;

/** Folders in which each file is one plugin, route or command, however short. */
const ONE_EACH = /^(?:http\/(?:hooks|routes)|admin\/commands)\//;
/** Files with fewer lines that are one concern all the same. */
const SMALL_FILES = new Set([
  // What an operator edits.
  'app/yoga-plugins.ts',
  // Each loads its parts by a call.
  'features/account-pages/feature.ts',
  'features/oauth/feature.ts',
  'features/features.ts',
  'platform/tracing/open-tracing.ts',
  // Commands load these, and nothing of the schema.
  'features/account-pages/paths.ts',
  'features/oauth/paths.ts',
  'schema/content-limits.ts',
  'schema/post/queue.ts',
  // Its examples are documents in a folder.
  'schema/examples.ts',
  // Metrics and the pages of two features share it.
  'http/local-request.ts',
]);

interface SourceFile {
  readonly path: string;
  readonly text: string;
  /** What it imports of `src`, as paths below it. */
  readonly imports: readonly string[];
  /** Those of them without which it does not start. */
  readonly loads: readonly string[];
  readonly specifiers: readonly string[];
}

const STATIC_IMPORT = /^(?:import|export)\b(?:[^;'"]*?\bfrom)?\s+'([^']+)'/gm;
/** Types are erased. */
const VALUE_IMPORT = /^(?:import|export)\b(?! type\b)(?:[^;'"]*?\bfrom)?\s+'([^']+)'/gm;
const DYNAMIC_IMPORT = /\bimport\(\s*'([^']+)'/g;
const KEBAB_CASE = /^([a-z0-9]+(-[a-z0-9]+)*\/)*(README|[a-z0-9]+(-[a-z0-9]+)*)\.[a-z]+$/;
const ENVIRONMENT =
  /\bprocess\??\.env\b|\bprocess\[['"]env|\bloadEnvFile\b|\benv\b[^}]*\}\s*(=\s*process|from 'node:process')/;
const RE_EXPORT = /^export\b[^;'"]*?\bfrom\s+'\.[^']+'/m;

function readSource(path: string): SourceFile {
  const text = readFileSync(join(SRC, path), 'utf8');
  const specifiersBy = (...patterns: readonly RegExp[]) =>
    patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, specifier = '']) => specifier));
  const inSrc = (specifiers: readonly string[]) =>
    specifiers
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => relative(SRC, join(SRC, dirname(path), specifier)).replaceAll('\\', '/'))
      .filter((target) => !target.startsWith('..'));
  const specifiers = specifiersBy(STATIC_IMPORT, DYNAMIC_IMPORT);
  return { path, text, imports: inSrc(specifiers), loads: inSrc(specifiersBy(VALUE_IMPORT)), specifiers };
}

const files = globSync('**/*', { cwd: SRC, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(SRC, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
  .filter((path) => !path.startsWith('generated/'))
  .map(readSource);

/** The table "Allowed imports" of docs/contributing/architecture.md. */
function readTable(): Map<string, { readonly allowed: readonly string[]; readonly lines: number }> {
  const [, section = ''] = readFileSync(join(ROOT, 'docs/contributing/architecture.md'), 'utf8').split(
    '## Allowed imports',
  );
  const names = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
  const rows = section.matchAll(/^\| (`[^|]+) \|([^|]*)\|([^|]*)\|$/gm);
  return new Map(
    [...rows].map(([, module, allowed, lines]) => [
      names(module)[0] ?? '',
      { allowed: names(allowed), lines: Number(lines?.replace(',', '').trim()) },
    ]),
  );
}

const rows = readTable();
const table = new Map([...rows].map(([module, { allowed }]) => [module, allowed]));
const modulesByLength = [...table.keys()].sort((a, b) => b.length - a.length);

function moduleOf(path: string): string | undefined {
  return modulesByLength.find((module) => path === module || path.startsWith(`${module}/`));
}

const linesOf = (text: string) => text.split('\n').length - 1;

const byPath = new Map(files.map((file) => [file.path, file]));

/** A circle of imports, if there is one. */
function findCircle(): string[] | undefined {
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): string[] | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const target of byPath.get(path)?.imports ?? []) {
      const circle = visit(target, [...trail, path]);
      if (circle !== undefined) return circle;
    }
    done.add(path);
    return undefined;
  };
  for (const { path } of files) {
    const circle = visit(path, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

describe('the table of allowed imports', () => {
  it('has a row for every file in src, and none for nothing', () => {
    expect(
      files.filter(({ path }) => moduleOf(path) === undefined).map(({ path }) => path),
      'Move these files into a folder of the table "Allowed imports" in docs/contributing/architecture.md, or add a row',
    ).toEqual([]);
    const used = new Set(files.map(({ path }) => moduleOf(path)));
    expect(
      modulesByLength.filter((module) => module !== 'generated' && !used.has(module)),
      'No file belongs to these rows of the table "Allowed imports" in docs/contributing/architecture.md: remove the rows',
    ).toEqual([]);
  });

  it('runs one way: no module reaches itself through others', () => {
    const reach = (module: string, seen: Set<string>): Set<string> => {
      for (const next of table.get(module) ?? []) if (!seen.has(next)) reach(next, seen.add(next));
      return seen;
    };
    expect(
      modulesByLength.filter((module) => reach(module, new Set()).has(module)),
      'These modules may import each other by the table in docs/contributing/architecture.md: remove one of the two directions',
    ).toEqual([]);
  });
});

it.each([...rows].filter(([module]) => module !== 'generated'))(
  '%s has at most the lines of the table',
  (module, { lines }) => {
    const code = files
      .filter(({ path }) => moduleOf(path) === module && path.endsWith('.ts'))
      .reduce((sum, { text }) => sum + countLines(text, '.ts'), 0);
    expect(
      code,
      `${module} has ${code} lines of code. Make it smaller, or raise its budget in the table of docs/contributing/architecture.md`,
    ).toBeLessThanOrEqual(lines);
  },
);

/** Folders that the service does not know (decision 33), and all that import them: to leave one out, these are edited. */
const IMPORTERS_OF = {
  'features/account-pages': ['features/features.ts'],
  'features/oauth': ['features/features.ts'],
  'features/development': ['app/server.ts', 'main.ts'],
};

it.each(Object.entries(IMPORTERS_OF))('the feature %s is imported by %s alone', (feature, expected) => {
  const isOf = (path: string) => path.startsWith(`${feature}/`);
  const importers = files.filter(({ path, imports }) => !isOf(path) && imports.some(isOf));
  expect(importers.map(({ path }) => path).sort()).toEqual(expected);
});

/** The files that a process loads which starts with this one, before it imports anything by a call. */
function loadedBy(path: string, loaded = new Set<string>()): Set<string> {
  loaded.add(path);
  for (const target of byPath.get(path)?.loads ?? []) if (!loaded.has(target)) loadedBy(target, loaded);
  return loaded;
}

it('a start in production loads nothing of development: that is imported by a call, or as a type', () => {
  const loaded = [...loadedBy('app/server.ts', loadedBy('main.ts'))];
  expect(loaded).toContain('app/create-app.ts');
  expect(
    loaded.filter((path) => path.startsWith('features/development/')),
    'Import these files by a call, import(), or as a type',
  ).toEqual([]);
  // The embedded database runs in a thread of its own.
  expect(loaded).not.toContain('database/embedded/cluster.ts');
});

/** What programs load of the modules that are not the schema. */
const PARTS_OF_MODULES = /^schema\/(?:account-content|event-kinds|limits|post\/queue)\.ts$/;

it('a program loads its part of a feature only, by a call: a command no server and no schema, a server no command', () => {
  expect([...loadedBy('features/features.ts')]).toContain('features/oauth/feature.ts');
  // The list of scopes is data, which every program needs; what commands do with content is declared by its modules.
  const inModules = (path: string, modules: RegExp) =>
    [...loadedBy(path)].filter((file) => !PARTS_OF_MODULES.test(file) && modules.test(file));
  const remedy = (part: string) =>
    `${part} would load these files at each start. Put what both need into a file that imports none of them, such as src/schema/account-content.ts, or import them by a call, import()`;
  expect(
    inModules(
      'features/features.ts',
      /^(engine\/(core|queries|builder)|http|schema|admin|features\/oauth\/(provider|routes|server|commands))\b/,
    ),
    remedy('Every program'),
  ).toEqual([]);
  expect(
    inModules('admin/main.ts', /^(engine\/(core|queries|builder)|http|schema)\b/),
    remedy('Every command'),
  ).toEqual([]);
});

/** What breaks a rule, file by file, so that a failure names all of it. */
function offenders(broken: (file: SourceFile) => readonly string[] | boolean): string[] {
  return files.flatMap((file) => {
    const result = broken(file);
    if (typeof result === 'boolean') return result ? [file.path] : [];
    return result.map((what) => `${file.path}: ${what}`);
  });
}

describe('a file in src', () => {
  it('imports what its module may', () => {
    const forbidden = ({ path, imports }: SourceFile) => {
      const module = moduleOf(path) ?? '';
      const allowed = new Set([module, ...(table.get(module) ?? [])]);
      return imports.filter((target) => !allowed.has(moduleOf(target) ?? ''));
    };
    expect(
      offenders(forbidden),
      'The table "Allowed imports" in docs/contributing/architecture.md does not allow these imports. Import from a module that the row allows, or move the code',
    ).toEqual([]);
  });

  it('is used: another file imports it, or a program starts with it', () => {
    const used = new Set(['main.ts', 'admin/main.ts']);
    // A worker is named as a file, too.
    for (const { path, text } of files)
      for (const [, target = ''] of text.matchAll(/'(\.[^']+\.ts)'/g))
        used.add(relative(SRC, join(SRC, dirname(path), target)).replaceAll('\\', '/'));
    const remedy =
      'Nothing reaches these files. Add the route, command, plugin, job or type to its list (CONTRIBUTING.md, "Recipes")';
    expect(
      offenders(({ path }) => path.endsWith('.ts') && !path.includes('/browser/') && !used.has(path)),
      remedy,
    ).toEqual([]);
  });

  it('is in no circle of imports', () => {
    expect(findCircle(), 'Move what two files of the circle share into a third file').toBeUndefined();
  });

  it('names the files it imports with their extension', () => {
    expect(
      offenders(({ specifiers }) =>
        specifiers.filter((s) => s.startsWith('.') && !/\.(ts|js|json)$/.test(s)),
      ),
      'Add the extension to these imports',
    ).toEqual([]);
  });

  it('is no barrel', () => {
    expect(
      offenders(({ path, text }) => basename(path) === 'index.ts' || RE_EXPORT.test(text)),
      'Import from the files themselves instead of from a file that exports them again',
    ).toEqual([]);
  });

  it('has a name in kebab-case', () => {
    expect(
      offenders(({ path }) => !KEBAB_CASE.test(path)),
      'Rename these files, such as event-log.ts',
    ).toEqual([]);
  });

  it(`has at most ${MAX_LINES} lines`, () => {
    expect(
      offenders(({ text }) => linesOf(text) > MAX_LINES),
      'Split these files by concern',
    ).toEqual([]);
  });

  it(`has at least ${MIN_LINES} lines, or is listed with a reason`, () => {
    const small = files
      .filter(({ path, text }) => path.endsWith('.ts') && linesOf(text) < MIN_LINES)
      .map(({ path }) => path)
      .filter((path) => !ONE_EACH.test(path));
    const remedy =
      'Put the code into the file that uses it, or add the file to SMALL_FILES of this test with a reason';
    expect(small.sort(), remedy).toEqual([...SMALL_FILES].sort());
  });

  it('which writes in a unit of work has nothing else to wait for (decision 14)', () => {
    const waits = /^(?:node:|(?:graphql-yoga|jose|ioredis|undici)$)|\/(?:passwords|deadline)\.ts$/;
    const value = /^import\s+(?!type\b)([^;'"]*?)\sfrom\s+'([^']+)'/gm;
    // Digests and random bytes are made at once.
    const atOnce = 'node:crypto';
    const writes = ({ text }: SourceFile) => /\bUnitOfWork\b/.test(text);
    const isDomain = ({ path }: SourceFile) => path.startsWith('schema/') || path === 'auth/accounts.ts';
    expect(
      offenders((file) =>
        writes(file) && isDomain(file)
          ? [...file.text.matchAll(value)]
              .map(([, , from = '']) => from)
              .filter((from) => waits.test(from) && from !== atOnce)
          : [],
      ),
      'A transaction of these files could wait for something other than the database. Do the other work before it begins',
    ).toEqual([]);
  });

  it('leaves the environment to platform/config/config.ts', () => {
    const readers = offenders(
      ({ path, text }) => path !== 'platform/config/config.ts' && ENVIRONMENT.test(text),
    );
    const remedy =
      'Take the value from Config: docs/contributing/recipes/setting.md has the steps for one that is not there.';
    expect(readers, remedy).toEqual([]);
  });
});

describe('what judges the service in fuzzers and properties', () => {
  // A type is no path of the service.
  const runtime = (text: string) =>
    [...text.matchAll(/^(?:import|export)\b(?! type\b)(?:[^;'"]*?\bfrom)?\s+'([^']+)'/gm)].map(
      ([, from = '']) => from,
    );

  it.each([
    ['model', /^(graphql|fast-check|node:[a-z]+|\.\/[\w-]+\.ts)$/],
    ['fuzz/oracle', /^(graphql|\.\/[\w-]+\.ts|\.\.\/case\.ts|\.\.\/\.\.\/model\/[\w-]+\.ts)$/],
  ])('tests/%s imports graphql-js and itself, and nothing of the service', (folder, allowed) => {
    const found = globSync('*.ts', { cwd: join(ROOT, 'tests', folder) });
    expect(found.length).toBeGreaterThan(5);
    const others = found.flatMap((name) =>
      runtime(readFileSync(join(ROOT, 'tests', folder, name), 'utf8'))
        .filter((specifier) => !allowed.test(specifier))
        .map((specifier) => `${name}: ${specifier}`),
    );
    expect(others).toEqual([]);
  });
});
