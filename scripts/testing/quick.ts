/**
 * `npm test`: the unit and contract tests of the gate and a fixed part of the API tests, on the embedded database. With
 * arguments it runs `vitest run` on those files.
 */
import { findFiles, QUICK_FILES } from '../../tests/stages.ts';
import { ROOT, runCommand } from './commands.ts';
import { withCompileCache } from './machine.ts';

const HELP = `npm test [-- FILE … | Vitest options]

Without a file: the unit and contract tests and a fixed part of the API tests, on the embedded database.
With files or options: "vitest run" with them, on the PostgreSQL of DATABASE_URL if it is set.
`;
const given = process.argv.slice(2);
if (given.includes('--help')) {
  process.stdout.write(HELP);
  process.exit(0);
}
const vitest = [`${ROOT}/node_modules/.bin/vitest`, 'run'];
const projects = ['--project', 'unit', '--project', 'api'];
const { exit } = await withCompileCache((cache) =>
  given.length > 0
    ? runCommand([...vitest, ...given], cache)
    : runCommand([...vitest, ...projects, ...findFiles(QUICK_FILES)], {
        ...cache,
        DATABASE_URL: undefined,
        REDIS_URL: undefined,
      }),
);
process.exit(exit === 0 ? 0 : 1);
