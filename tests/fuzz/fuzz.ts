import { startApp } from '../support/app.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { createTemplate, type Template } from '../support/database/template.ts';
import { Campaign } from './drive/campaign.ts';
import { reportOf } from './drive/report.ts';
import { openStage, STAGE_SETTINGS, type Stage } from './drive/stage.ts';
import { Tally } from './drive/tally.ts';
import { judgedSchema } from './judged-schema.ts';

export interface FuzzOptions {
  readonly seconds: number;
  readonly count: number;
  readonly seed: number;
  /** The number of the first case. */
  readonly from: number;
  /** It ends after so many differences. */
  readonly reports: number;
  readonly print: (text: string) => void;
}

/** Mutations wear the data down: after so many cases another service begins, with new data. */
const CASES_PER_SERVICE = 1_000;

async function withStage<T>(
  template: Template,
  world: string,
  work: (stage: Stage) => Promise<T>,
): Promise<T> {
  const app = await startApp(await createTestDatabase({ template, label: world }), {
    settings: STAGE_SETTINGS,
  });
  try {
    const stage = await openStage(app);
    try {
      return await work(stage);
    } finally {
      await stage.close();
    }
  } finally {
    await app.stop();
  }
}

/** Tries random cases until the time is over or the differences are enough. */
export async function fuzz(options: FuzzOptions): Promise<{ tally: Tally; differences: number }> {
  const { seed, from, print } = options;
  let end = Number.POSITIVE_INFINITY;
  const tally = new Tally();
  const { schema, unjudged } = judgedSchema();
  if (unjudged.length > 0) print(`Not judged: ${unjudged.join(', ')}.`);
  const campaign = new Campaign(seed, schema, tally);
  let differences = 0;
  const startMs = performance.now();
  const done = (number: number) =>
    number - from >= options.count || performance.now() > end || differences >= options.reports;
  const { template, drop } = await createTemplate();
  try {
    for (let number = from; !done(number); )
      await withStage(template, `fuzz ${seed} ${number}`, async (stage) => {
        // What it takes to get there is not counted.
        end = Math.min(end, performance.now() + options.seconds * 1_000);
        campaign.begin();
        const first = number;
        const last = first + CASES_PER_SERVICE;
        for (; number < last && !done(number); number += 1) {
          const finding = await campaign.run(stage, number);
          if (finding === undefined) continue;
          differences += 1;
          const seconds = Math.round((performance.now() - startMs) / 1_000);
          const { kind, expected, got } = finding;
          print(`Case ${number}, found after ${seconds} s: ${kind}, expected ${expected}, got ${got}`);
          print(reportOf(finding, seed, number, first));
        }
        await tally.notePaths(stage.app);
      });
  } finally {
    await drop();
  }
  return { tally, differences };
}
