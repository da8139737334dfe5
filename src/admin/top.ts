import { Option } from 'commander';
import { KEPT_SECONDS, MEASURES, type Measure, topClients } from '../client-use/client-uses-store.ts';
import type { AdminCommand } from './command.ts';
import { parseSeconds } from './options.ts';

/** `top`. */
export const topCommand: AdminCommand = {
  name: 'top',
  description: 'lists the clients that use the most, of all instances; at most 5 s old',
  define(command, run) {
    command
      .addOption(
        new Option('--seconds <n>', `how far back, at most ${KEPT_SECONDS}`)
          .argParser(parseSeconds(KEPT_SECONDS))
          .default(60),
      )
      .addOption(
        new Option('--by <measure>', 'requests, the complexity of operations, or time of the database')
          .choices(MEASURES)
          .default('requests'),
      )
      .action(({ seconds, by }: { readonly seconds: number; readonly by: Measure }) =>
        run(({ database }) => topClients(database, seconds, by)),
      );
  },
};
