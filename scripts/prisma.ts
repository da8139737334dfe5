/**
 * Runs Prisma's CLI. Its schema engine is a native binary that Prisma downloads on demand. `generate` does
 * not need it, but the CLI rejects to start without it. If none is installed, `generate` gets the path of any
 * existing file; other commands report the missing engine.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname } from 'node:path';

const require = createRequire(import.meta.url);
const engines = dirname(
  require.resolve('@prisma/engines/package.json', { paths: [require.resolve('prisma/package.json')] }),
);
const cli = require.resolve('prisma/build/index.js');
const args = process.argv.slice(2);
const hasEngine =
  process.env.PRISMA_SCHEMA_ENGINE_BINARY !== undefined ||
  (existsSync(engines) && readdirSync(engines).some((file) => file.startsWith('schema-engine-')));
/** Prisma runs the generator of `tables.ts`, which is TypeScript, with the `node` that PATH names. */
const base = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}` };
const env =
  args[0] === 'generate' && !hasEngine
    ? {
        ...base,
        PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        NO_UPDATE_NOTIFIER: '1',
      }
    : base;
const result = spawnSync(process.execPath, [cli, ...args], { stdio: 'inherit', env });
process.exit(result.status ?? 1);
