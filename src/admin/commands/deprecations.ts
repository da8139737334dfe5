import { Option } from 'commander';
import { listDeprecatedUsage } from '../../engine/documents/deprecated-usage.ts';
import { CLIENT_NAMES } from '../../features/features.ts';
import type { DefineCommands, Opened } from '../cli/connection.ts';
import { parseTimestamp } from '../cli/options.ts';

interface Options {
  readonly since?: Date;
}

const listUsage = ({ database }: Opened, { since }: Options) =>
  listDeprecatedUsage(database, since, CLIENT_NAMES);

async function report({ database, config }: Opened, { since }: Options) {
  // Building the schema takes a while, and the other commands do not need the schema.
  const { contentLimits } = await import('../../schema/content-limits.ts');
  const { buildSchema } = await import('../../schema/schema.ts');
  const { usageReport } = await import('./deprecation-report.ts');
  return usageReport(database, buildSchema(contentLimits(config)), since);
}

export const defineDeprecationCommands: DefineCommands = ({ add, command }) => {
  add('deprecation', 'Read the usage of deprecated schema elements');
  const since = () =>
    new Option('--since <time>', 'usage since this ISO 8601 time, in whole days (UTC)').argParser(
      parseTimestamp,
    );
  command(
    'deprecation list-usage',
    'List the clients that use deprecated schema elements; the last 10 s can be missing',
    listUsage,
  ).addOption(since());
  command(
    'deprecation report',
    'Print the usage with the published documents, for "npm run schema:check -- --usage FILE"',
    report,
  ).addOption(since());
};
