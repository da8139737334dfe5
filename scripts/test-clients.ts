/**
 * Runs the recipes of docs/clients.md against a server. They are a package of their own, because no user of the service
 * needs all these libraries: installs it, generates the code that some of them need, and checks the types.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { linkPeers } from '../packages/client/link-peers.ts';

const PACKAGE = 'examples/clients';

const HELP = `npm run test:clients [-- FILE …]

Installs the packages of ${PACKAGE} where they are missing, generates code and checks types, then runs the tests. What is
given goes to Vitest.
`;

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

/** The path of a file in an installed package. */
function fileIn(name: string, path: string): string {
  return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), path);
}

if (process.argv.includes('--help')) {
  process.stdout.write(HELP);
  process.exit(0);
}
if (process.env.CI !== undefined || !existsSync(join(PACKAGE, 'node_modules')))
  run('npm', ['ci', '--prefix', PACKAGE]);
// The tests of adapters and the adapters themselves use the libraries of the recipes.
for (const folder of ['packages/client', 'tests/clients']) linkPeers(folder);
run('npm', ['run', '--silent', '--prefix', PACKAGE, 'generate']);
run('npm', ['run', '--silent', '--prefix', PACKAGE, 'typecheck']);
run(process.execPath, [
  fileIn('typescript', 'bin/tsc'),
  '--project',
  'packages/client/tsconfig.adapters.json',
  '--noEmit',
]);
// The tests import the recipes, and those the libraries: the project's own check leaves them out.
run(process.execPath, [fileIn('typescript', 'bin/tsc'), '--project', 'tests/clients']);
const vitest = fileIn('vitest', 'vitest.mjs');
run(process.execPath, [vitest, 'run', '--project', 'clients', ...process.argv.slice(2)]);
