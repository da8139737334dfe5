import { expect, it } from 'vitest';
import { Campaign } from '../../fuzz/drive/campaign.ts';
import { reportOf } from '../../fuzz/drive/report.ts';
import { shrink } from '../../fuzz/drive/shrink.ts';
import { openStage, STAGE_SETTINGS } from '../../fuzz/drive/stage.ts';
import { Tally } from '../../fuzz/drive/tally.ts';
import { judgedSchema } from '../../fuzz/judged-schema.ts';
import { useApp } from '../../support/app.ts';

/** A few: `npm run test:fuzz` tries as many as there is time for, from any seed. */
const CASES = 100;
const SEED = 20_261_122;

const app = useApp({ settings: STAGE_SETTINGS });

it('answers random operations as the contract says, whichever way they come', async () => {
  const tally = new Tally();
  const campaign = new Campaign(SEED, judgedSchema().schema, tally);
  const stage = await openStage(app);
  try {
    for (let number = 0; number < CASES; number += 1) {
      const finding = await campaign.run(stage, number);
      if (finding !== undefined)
        expect.fail(reportOf(await shrink(stage, finding, campaign.sent), SEED, number));
    }
    await tally.notePaths(app);
  } finally {
    await stage.close();
  }
  // The comparison means something only where operations take all the ways there are.
  for (const path of ['fast_path', 'whole_answer', 'loaders', 'one_statement'])
    expect(tally.paths.get(path) ?? 0, path).toBeGreaterThan(0);
});
