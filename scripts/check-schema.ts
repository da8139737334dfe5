/**
 * Compares the published schema with the released one (contract: deprecation). No change may be breaking, except the removal of
 * what was released as deprecated and, as the report shows, nobody uses any more.
 *
 *   npm run schema:check -- [--usage FILE] [--documents]
 *
 * FILE is the output of `npm run -s admin -- deprecation report`. With --documents, the documents that are published in
 * the configured database are checked with the schema, too.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDocumentCheck } from '../src/engine/documents/trusted/publish-check.ts';
import { loadProcessConfig } from '../src/platform/config/config.ts';
import { readArguments } from '../src/platform/process.ts';
import { contentLimits } from '../src/schema/content-limits.ts';
import { buildSchema } from '../src/schema/schema.ts';
import { RELEASED_SCHEMA_FILE, SCHEMA_FILE } from './print-schema.ts';
import { brokenPromises } from './released/gate.ts';
import { releaseOf } from './released/release-head.ts';
import { parseUsage, type Usage } from './released/usage-file.ts';

/** More than the texts of all documents that a service can have. */
const MAX_OUTPUT_BYTES = 2 ** 30;

interface PublishedDocument {
  readonly id: string;
  readonly client: string;
  readonly release: string | null;
  readonly text: string;
}

/** Reads the published documents by an admin command, which works beside a running server, too. */
function readPublishedDocuments(): readonly PublishedDocument[] {
  const command = [join(import.meta.dirname, '../src/admin/main.ts'), 'document', 'list', '--texts'];
  const { status, stdout } = spawnSync(process.execPath, command, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  if (status !== 0) throw new Error('The published documents cannot be read.');
  const documents: readonly PublishedDocument[] = JSON.parse(stdout);
  return documents;
}

/** Finds the published documents that do not fit the schema of the code, a line for each release. */
function findOutdatedDocuments(): readonly string[] {
  const config = loadProcessConfig();
  const { check } = createDocumentCheck(buildSchema(contentLimits(config)), config);
  return readPublishedDocuments().flatMap(({ id, client, release, text }) => {
    const checked = check(text);
    const of = release === null ? client : `${client} ${release}`;
    return 'reason' in checked ? [`${of}, document ${id}: ${checked.reason}`] : [];
  });
}

/** Throws an error with a message for people. */
function read(what: string, file: string | URL): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${what} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function usageIn(file: string): Usage {
  const text = read('The report', file);
  try {
    return parseUsage(text);
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const HELP = `npm run schema:check [-- --usage FILE] [--documents]

Compares schema.graphql with schema.released.graphql and refuses a change that breaks a client.
  --usage FILE  what "admin deprecation report" printed: an element that nobody uses may go
  --documents   names the published documents that no longer fit, from the database of the settings
`;

/** Reports lines on standard error, or else that all is well. */
function conclude(problems: readonly string[], well: string): void {
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
  else process.stdout.write(`${well}\n`);
}

if (import.meta.main) {
  const values = readArguments(HELP, {
    usage: { type: 'string' },
    documents: { type: 'boolean', default: false },
  });
  try {
    const released = read('schema.released.graphql, which "npm run release" writes,', RELEASED_SCHEMA_FILE);
    const usage = values.usage === undefined ? undefined : usageIn(values.usage);
    const broken = brokenPromises(released, read('schema.graphql', SCHEMA_FILE), usage);
    conclude(broken, `The schema is compatible with that of release ${releaseOf(released).version}.`);
    if (values.documents) conclude(findOutdatedDocuments(), 'All published documents fit the schema.');
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
