/**
 * Runs Prisma's command line. Its schema engine is a native binary that Prisma downloads on demand; `generate` does
 * not need it, yet the command line refuses to start without one. Where none is installed, `generate` is pointed at
 * a file that exists, and every other command says what it lacks.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

const require = createRequire(import.meta.url);
const engines = dirname(
  require.resolve('@prisma/engines/package.json', { paths: [require.resolve('prisma/package.json')] }),
);
const cli = require.resolve('prisma/build/index.js');
const args = process.argv.slice(2);
const hasEngine =
  process.env.PRISMA_SCHEMA_ENGINE_BINARY !== undefined ||
  (existsSync(engines) && readdirSync(engines).some((file) => file.startsWith('schema-engine-')));
const env =
  args[0] === 'generate' && !hasEngine
    ? {
        ...process.env,
        PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        NO_UPDATE_NOTIFIER: '1',
      }
    : process.env;
const result = spawnSync(process.execPath, [cli, ...args], { stdio: 'inherit', env });
process.exit(result.status ?? 1);
