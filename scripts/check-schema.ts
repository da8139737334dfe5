/**
 * Compares the published schema with an earlier one (contract section 7). No change may be breaking, except
 * the removal of a deprecated field that the usage report shows as unused.
 *
 *   npm run schema:check -- [--against REF] [--usage FILE] [--documents]
 *
 * REF is a commit, HEAD^ by default. FILE holds the /metrics output of all instances. With --documents, the documents that
 * are published in the configured database are checked with the schema, too.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { BreakingChangeType, buildSchema, findBreakingChanges, isObjectType } from 'graphql';
import { openForCommand } from '../src/admin/connection.ts';
import { rulesOf } from '../src/modules/rules.ts';
import { loadProcessConfig } from '../src/platform/config.ts';
import { createLogger } from '../src/platform/log.ts';
import { buildSchema as buildServiceSchema } from '../src/schema.ts';
import { createDocumentCheck } from '../src/trusted-documents/check.ts';
import { publishedTexts } from '../src/trusted-documents/store.ts';
import { SCHEMA_FILE } from './print-schema.ts';

const METRIC = 'graphql_deprecated_uses_total';

/** The number of uses of each deprecated element. Undefined if the text is not a usage report. */
function usesIn(report: string): ReadonlyMap<string, number> | undefined {
  if (!report.includes(`# TYPE ${METRIC} `)) return undefined;
  const uses = new Map<string, number>();
  for (const [, element = '', count] of report.matchAll(
    /^graphql_deprecated_uses_total\{element="([^"]+)".*\} (\S+)$/gm,
  ))
    uses.set(element, (uses.get(element) ?? 0) + Number(count));
  return uses;
}

/** Describes the breaking changes between two schemas in SDL. Empty if there are none. */
export function brokenPromises(before: string, after: string, report = ''): readonly string[] {
  const earlier = buildSchema(before);
  const uses = usesIn(report);
  return findBreakingChanges(earlier, buildSchema(after)).flatMap(({ type, description }) => {
    const [, coordinate = '', typeName = '', field = ''] =
      /^Field ((\w+)\.(\w+)) was removed\.$/.exec(description) ?? [];
    const owner = earlier.getType(typeName);
    const removed =
      type === BreakingChangeType.FIELD_REMOVED && isObjectType(owner) ? owner.getFields()[field] : undefined;
    if (removed?.deprecationReason == null) return [description];
    if (uses === undefined)
      return [
        `${coordinate} was removed. It was deprecated; pass --usage to show that it is no longer used.`,
      ];
    const count = uses.get(coordinate) ?? 0;
    return count === 0 ? [] : [`${coordinate} was removed. It was deprecated, but was used ${count} times.`];
  });
}

/** The published documents that do not fit the schema of the code, a line for each release. */
async function outdatedDocuments(): Promise<readonly string[]> {
  const config = loadProcessConfig();
  const log = createLogger({ level: 'error', pretty: false, destination: process.stderr });
  const { database } = await openForCommand({ config, log, migrates: false });
  try {
    const { check } = createDocumentCheck(buildServiceSchema(rulesOf(config)), config);
    const lines: string[] = [];
    for await (const { id, client, release, text } of publishedTexts(database)) {
      const checked = check(text);
      if ('reason' in checked)
        lines.push(`${client}${release === null ? '' : ` ${release}`}, document ${id}: ${checked.reason}`);
    }
    return lines;
  } finally {
    await database.close();
  }
}

const git = (...args: readonly string[]): string | undefined => {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    // No repository or no such commit, so there is nothing to compare with.
    return undefined;
  }
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      against: { type: 'string', default: 'HEAD^' },
      usage: { type: 'string' },
      documents: { type: 'boolean', default: false },
    },
  });
  const before = git('show', `${values.against}:schema.graphql`);
  if (before === undefined) {
    process.stdout.write(`There is no schema.graphql at ${values.against} to compare with.\n`);
  } else {
    const report = values.usage === undefined ? '' : readFileSync(values.usage, 'utf8');
    const broken = brokenPromises(before, readFileSync(SCHEMA_FILE, 'utf8'), report);
    for (const promise of broken) process.stderr.write(`${promise}\n`);
    if (broken.length > 0) process.exitCode = 1;
    else process.stdout.write(`The schema is compatible with the one at ${values.against}.\n`);
  }
  if (values.documents) {
    const outdated = await outdatedDocuments();
    for (const line of outdated) process.stderr.write(`${line}\n`);
    if (outdated.length > 0) process.exitCode = 1;
    else process.stdout.write('All published documents fit the schema.\n');
  }
}
