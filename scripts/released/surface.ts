import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { z } from 'zod';
import { createProgram } from '../../src/admin/program.ts';
import { SETTING_NAMES } from '../../src/platform/config/setting-table.ts';
import { ERRORS } from '../../src/platform/errors.ts';
import { LOG_EVENTS } from '../../src/platform/log/log-events.ts';

/** The public names outside the schema. An entry is a name with its parts, such as the labels of a metric. */
export const SURFACE = z.object({
  settings: z.array(z.string()),
  codes: z.array(z.string()),
  metrics: z.array(z.string()),
  commands: z.array(z.string()),
  // Release 1.0.0 had no codes.
  logEvents: z.array(z.string()).default([]),
});
export type Surface = z.infer<typeof SURFACE>;

const METRICS_PAGE = new URL('../../docs/operate/metrics.md', import.meta.url);

/** The metrics of the page, which a test compares with those of the service: each with its type and its labels. */
const metrics = (): string[] =>
  [...readFileSync(METRICS_PAGE, 'utf8').matchAll(/^- `(\w+)` \((\w+)([^)]*)\): /gm)].map(
    ([, name, type, labels = '']) =>
      [name, type, ...[...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label)].join(' '),
  );

/** A command with its arguments and options, and those under it. */
function commandsOf(command: Command, before = ''): string[] {
  return command.commands.flatMap((one) => {
    const name = `${before}${one.name()}`;
    if (one.commands.length > 0) return commandsOf(one, `${name} `);
    const given = one.registeredArguments.map((argument) =>
      argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
    );
    return [[name, ...given, ...one.options.map(({ long }) => long ?? '').sort()].join(' ')];
  });
}

const never = () => Promise.reject(new Error('no command runs here'));

/** What the code has at present, sorted. */
export function presentSurface(): Surface {
  return {
    settings: [...SETTING_NAMES].sort(),
    codes: Object.entries(ERRORS)
      .map(([code, { status }]) => `${code} ${status}`)
      .sort(),
    metrics: metrics().sort(),
    commands: commandsOf(createProgram(never, never)).sort(),
    logEvents: Object.keys(LOG_EVENTS).sort(),
  };
}
