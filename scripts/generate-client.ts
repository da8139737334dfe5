/**
 * Generates the Prisma client as `prisma generate` does, by the packages that the CLI itself uses for that. The CLI would
 * also install a studio, a local server and drivers of other databases, 200 MB in all.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** The ES modules of the packages import files without an extension, which Node does not find. */
const require = createRequire(import.meta.url);
const { PrismaClientTsGenerator } =
  require('@prisma/client-generator-ts') as typeof import('@prisma/client-generator-ts');
const { getGenerator, loadSchemaContext } =
  require('@prisma/internals') as typeof import('@prisma/internals');

const schemaContext = await loadSchemaContext({
  schemaPath: { cliProvidedPath: join(import.meta.dirname, '../prisma/schema.prisma') },
  printLoadMessage: false,
});
const generator = await getGenerator({
  schemaContext,
  registry: { 'prisma-client': { type: 'in-process', generator: new PrismaClientTsGenerator() } },
  // The client has its query compiler as WASM, so no engine is downloaded.
  skipDownload: true,
  cliCommand: 'generate',
});
await generator.generate();
generator.stop();
