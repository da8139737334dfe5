import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

/** The version of pg whose internals the service uses. */
const KNOWN = '8.23.1';

const TEACH = `src/database/pg-query.ts, limited-client.ts and server-client.ts use what pg does not document: the messages of a connection, "parsedStatements", and the only "data" listener of its stream. Compare lib/client.js and lib/connection.js of this version with those of ${KNOWN}, run "npm run test:postgres", then change KNOWN.`;

/** The folder of the pg that a package imports. */
function folderOfPg(importer: string): string {
  const require = createRequire(importer);
  return dirname(require.resolve('pg/package.json'));
}

it('The service runs on the version of pg whose internals it uses, and Prisma on the same copy', () => {
  const folder = folderOfPg(import.meta.url);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  expect(version, TEACH).toBe(KNOWN);
  expect(folderOfPg(createRequire(import.meta.url).resolve('@prisma/adapter-pg'))).toBe(folder);
});
