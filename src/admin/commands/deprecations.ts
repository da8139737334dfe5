import { listDeprecatedUses } from '../../engine/documents/deprecated-usage.ts';
import { CLIENT_NAMES } from '../../features/features.ts';
import type { DefineCommands, Opened } from '../cli/connection.ts';
import { parseInstant } from '../cli/options.ts';

interface Options {
  readonly since?: Date;
  readonly report?: boolean;
}

async function list({ database, config }: Opened, { since, report = false }: Options) {
  if (!report) return listDeprecatedUses(database, since, CLIENT_NAMES);
  // The schema takes a while to build, and the other commands do without.
  const { rulesOf } = await import('../../schema/limits.ts');
  const { buildSchema } = await import('../../schema/schema.ts');
  const { usageReport } = await import('./deprecation-report.ts');
  return usageReport(database, buildSchema(rulesOf(config)), since);
}

export const defineDeprecationsCommand: DefineCommands = ({ command }) => {
  command('deprecations', 'lists which clients use what the schema deprecates; at most 10 s old', list)
    .option('--since <time>', 'what was used since; counts are those of whole days (UTC)', parseInstant)
    .option('--report', 'the file of "npm run schema:check -- --usage": with the published documents');
};
