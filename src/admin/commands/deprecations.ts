import { listDeprecatedUses } from '../../engine/documents/deprecated-usage.ts';
import type { AdminCommand } from '../cli/connection.ts';
import { parseInstant } from '../cli/options.ts';

interface Options {
  readonly since?: Date;
  readonly report?: boolean;
}

/** `deprecations`. `clientNames` is SQL of ids and names. */
export const deprecationsCommand = (clientNames: readonly string[]): AdminCommand => ({
  name: 'deprecations',
  description: 'lists which clients use what the schema deprecates; at most 10 s old',
  define(command, run) {
    command
      .option('--since <time>', 'what was used since; counts are those of whole days (UTC)', parseInstant)
      .option('--report', 'the file of "npm run schema:check -- --usage": with the published documents')
      .action(({ since, report = false }: Options) =>
        run(async ({ database, config }) => {
          if (!report) return listDeprecatedUses(database, since, clientNames);
          // The schema takes a while to build, and the other commands do without.
          const { rulesOf } = await import('../../schema/limits.ts');
          const { buildSchema } = await import('../../schema/schema.ts');
          const { usageReport } = await import('./deprecation-report.ts');
          const schema = buildSchema(rulesOf(config));
          return usageReport({ database, schema, since, clientNames });
        }),
      );
  },
});
