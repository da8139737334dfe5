import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');
const read = (path: string) => readFileSync(join(SRC, path), 'utf8');

/** A function that makes a plugin of the service. */
const DECLARED = /^export (?:const|function) (use[A-Z]\w*)/gm;

it('every plugin of the service is in a list of plugins', () => {
  const plugins = globSync(['http/hooks/*.ts', 'engine/**/*.ts'], { cwd: SRC }).flatMap((path) =>
    [...read(path).matchAll(DECLARED)].map(([, name = '']) => ({ name, path })),
  );
  expect(plugins.length).toBeGreaterThan(10);
  const lists = globSync(['app/*.ts', 'http/create-http.ts'], { cwd: SRC }).map(read).join('\n');
  const idle = plugins.filter(({ name }) => !lists.includes(`${name}(`));
  expect(
    idle.map(({ name, path }) => `src/${path}: ${name}`),
    'No request passes these plugins. Call each in operationPlugins of src/app/create-app.ts if its stages are those of operations (docs/contributing/recipes/rule.md), and in pluginsOf of src/http/create-http.ts otherwise',
  ).toEqual([]);
});
