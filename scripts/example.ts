/** Builds the example page and starts the service, which serves it at `/example/`. */
import { buildExample, ExampleError } from './example-package.ts';

try {
  buildExample();
} catch (error) {
  if (!(error instanceof ExampleError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
await import('../src/main.ts');
