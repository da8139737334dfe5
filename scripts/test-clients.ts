/**
 * Runs the recipes of docs/clients/ against a server. They are a separate package, because no user of the service needs all
 * these libraries. Installs the libraries, builds the client package, generates code, and checks types.
 */
import { linkClient, linkPeers } from '../packages/client/link-peers.ts';
import { fileIn, installPackage, runOrExit } from './testing/separate-package.ts';

const PACKAGE = 'examples/clients';

const HELP = `npm run test:clients [-- FILE …]

Installs the packages of ${PACKAGE} if they are missing, builds packages/client, generates code and checks types. Then runs
the tests. Arguments go to Vitest.
`;

if (process.argv.includes('--help')) {
  process.stdout.write(HELP);
  process.exit(0);
}
installPackage(PACKAGE);
// The adapters and their tests use the libraries of the recipes.
for (const folder of ['packages/client', 'tests/clients']) linkPeers(folder);
// Tests make projects as a reader does, with the built package.
runOrExit('npm', ['run', '--silent', '--workspace', 'packages/client', 'build']);
linkClient(PACKAGE);
runOrExit('npm', ['run', '--silent', '--prefix', PACKAGE, 'generate']);
runOrExit('npm', ['run', '--silent', '--prefix', PACKAGE, 'typecheck']);
runOrExit(process.execPath, [
  fileIn('typescript', 'bin/tsc'),
  '--project',
  'packages/client/tsconfig.adapters.json',
  '--noEmit',
]);
// The tests import recipes and so their libraries. The check of the project leaves them out.
runOrExit(process.execPath, [fileIn('typescript', 'bin/tsc'), '--project', 'tests/clients']);
const vitest = fileIn('vitest', 'vitest.mjs');
runOrExit(process.execPath, [vitest, 'run', '--project', 'clients', ...process.argv.slice(2)]);
