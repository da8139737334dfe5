import { expect, it, onTestFinished } from 'vitest';
import { runSequences } from '../../fuzz/sequences/run.ts';
import { createTestDatabase } from '../../support/database/database.ts';

it('two instances answer as the contract says, whatever is asked of them and in whatever order (sections 3, 5, 6, 9)', async () => {
  const { settings, drop } = await createTestDatabase();
  onTestFinished(drop);
  const { failure } = await runSequences({ count: 2, seed: 1, database: settings, storms: false });
  expect(failure).toBeUndefined();
});
