/**
 * Builds the example page, starts the service, which serves it at `/example/`, and publishes what the page asks for by id.
 * Where that fails, the page sends texts.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { readArguments } from '../src/platform/process.ts';
import { buildExample, DOCUMENTS, ExampleError } from './example-package.ts';

const { build } = readArguments(
  `npm run example
npm run example:build

Builds the page of examples/web and starts the service, which serves it at /example/. Settings are those of "npm start".
"npm run example:build" builds the page only, beside a service that runs.
`,
  { build: { type: 'boolean' } },
);
const ADMIN = fileURLToPath(new URL('../src/admin/main.ts', import.meta.url));

try {
  buildExample();
} catch (error) {
  if (!(error instanceof ExampleError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
if (build === true) process.stderr.write('The example page is built.\n');
else await import('../src/main.ts');
const publishing = spawn(process.execPath, [ADMIN, 'document', 'publish', '--client', 'example', DOCUMENTS], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
const [code] = await once(publishing, 'exit');
if (code !== 0)
  process.stderr.write('The documents of the example page could not be published: it sends texts.\n');
