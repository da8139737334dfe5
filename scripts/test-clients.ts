/**
 * Runs the recipes of docs/clients/ against a server. They are a separate package, because no user of the service needs all
 * these libraries. Installs the libraries, builds the client package, generates code, and checks types.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { linkClient, linkPeers } from '../packages/client/link-peers.ts';

const PACKAGE = 'examples/clients';

const HELP = `npm run test:clients [-- FILE …]

Installs the packages of ${PACKAGE} if they are missing, builds packages/client, generates code and checks types. Then runs
the tests. Arguments go to Vitest.
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
// The adapters and their tests use the libraries of the recipes.
for (const folder of ['packages/client', 'tests/clients']) linkPeers(folder);
// Tests make projects as a reader does, with the built package.
run('npm', ['run', '--silent', '--workspace', 'packages/client', 'build']);
linkClient(PACKAGE);
run('npm', ['run', '--silent', '--prefix', PACKAGE, 'generate']);
run('npm', ['run', '--silent', '--prefix', PACKAGE, 'typecheck']);
run(process.execPath, [
  fileIn('typescript', 'bin/tsc'),
  '--project',
  'packages/client/tsconfig.adapters.json',
  '--noEmit',
]);
// The tests import recipes and so their libraries. The check of the project leaves them out.
run(process.execPath, [fileIn('typescript', 'bin/tsc'), '--project', 'tests/clients']);
const vitest = fileIn('vitest', 'vitest.mjs');
run(process.execPath, [vitest, 'run', '--project', 'clients', ...process.argv.slice(2)]);
