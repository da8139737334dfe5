/**
 * Runs software of others against the service. The software is a separate package: installs it, generates the code that some
 * of it needs, and checks the types.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeResults } from './compatibility-page.ts';
import { fileIn, installPackage, runOrExit } from './testing/separate-package.ts';

const PACKAGE = 'tests/compatibility';

const HELP = `npm run test:compatibility [-- [--write] FILE …]

Installs the packages of ${PACKAGE} where they are missing, generates code and checks types, then runs the tests. What is
given goes to Vitest. With --write, the results replace those of the same files and host in ${PACKAGE}/results.json, and
docs/reference/compatibility.md is written. TEST_HOST=yoga runs the service on the Yoga host.
`;

if (process.argv.includes('--help')) {
  process.stdout.write(HELP);
  process.exit(0);
}
installPackage(PACKAGE, '--ignore-scripts');
runOrExit('npm', ['run', '--silent', '--prefix', PACKAGE, 'generate']);
runOrExit(process.execPath, [fileIn('typescript', 'bin/tsc'), '--project', PACKAGE]);
const vitest = [fileIn('vitest', 'vitest.mjs'), 'run', '--project', 'compatibility'];
const isWriting = process.argv.includes('--write');
const given = process.argv.slice(2).filter((argument) => argument !== '--write');
const folder = mkdtempSync(join(tmpdir(), 'content-graph-compatibility-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const report = join(folder, 'report.json');
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
runOrExit(process.execPath, [...vitest, ...(isWriting ? reporters : []), ...given]);
if (isWriting) writeResults(JSON.parse(readFileSync(report, 'utf8')));
