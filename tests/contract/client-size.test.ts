import { globSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'vite';
import { describe, expect, it } from 'vitest';

const SOURCE = join(import.meta.dirname, '../../packages/client/src');
const ENTRY = 'virtual:page';

/** Bundles the script of a page, minified, without the libraries of adapters. @returns the size with brotli */
async function measure(script: string, isExternal: (id: string) => boolean = () => false): Promise<number> {
  const result = await build({
    configFile: false,
    logLevel: 'silent',
    plugins: [
      {
        name: 'page',
        resolveId: (id) => (id === ENTRY ? id : undefined),
        load: (id) => (id === ENTRY ? script : undefined),
      },
    ],
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rolldownOptions: { input: ENTRY, external: (id) => !/^[./]|^virtual:/.test(id) || isExternal(id) },
    },
  });
  const [output] = [result].flat();
  if (output === undefined || !('output' in output)) throw new Error('The build has no output.');
  const [chunk] = output.output;
  return brotliCompressSync(chunk.code).length;
}

const core = join(SOURCE, 'index.ts');
const importAll = (path: string) => `import * as all from ${JSON.stringify(path)}; console.log(all);`;
const importNames = (names: string) =>
  `import { ${names} } from ${JSON.stringify(core)}; console.log(${names});`;

/** Budgets in bytes, a twentieth above the size. A page pays for them on each first visit. */
const BUDGETS = [
  ['all of the core', importAll(core), 10_600],
  ['createClient', importNames('createClient'), 7_250],
  ['createClient and openChanges', importNames('createClient, openChanges'), 8_650],
] as const;

describe('The size of the client, minified and with brotli', () => {
  it.each(BUDGETS)('is within the budget: %s', async (_name, script, budget) => {
    const size = await measure(script);
    expect(size).toBeLessThanOrEqual(budget);
    expect(size, 'lower the budget').toBeGreaterThan(budget * 0.9);
  });

  const adapters = globSync('adapters/{apollo,event-source,react,relay,tanstack,urql}.ts', { cwd: SOURCE });
  it.each(adapters)('is at most 1,250 bytes beside the core: %s', async (path) => {
    const size = await measure(importAll(join(SOURCE, path)), (id) => /^\.\.\//.test(id));
    expect(size).toBeLessThanOrEqual(1_250);
  });
});
