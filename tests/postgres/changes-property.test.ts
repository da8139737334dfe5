import fc from 'fast-check';
import { expect, it, onTestFinished, vi } from 'vitest';
import { scopesOfRole } from '../../src/auth/scopes.ts';
import { useApp } from '../support/app.ts';
import { instanceOnOwnPool, secondInstance } from '../support/second-instance.ts';
import { commands, lateJoins } from './changes/commands.ts';
import { type Between, interruptible, type Stage } from './changes/stage.ts';
import { World } from './changes/world.ts';

const RUNS = Number(process.env.CHANGES_RUNS ?? 40);

const app = useApp({ settings: { MAX_STREAMS: '10000', MAX_COMPLEXITY: '50000' } });

it('each reader of changes gets exactly those that its filter lets through after its id, and a page that is followed is right', async () => {
  // The time of heartbeats, which tell how far a reader is.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const between: Between = { act: undefined };
  const roles = ['member', 'member', 'admin'] as const;
  const accounts: Stage['accounts'] = await Promise.all(
    roles.map(async (role) => {
      const account = await app.account({ role });
      const scopes = new Set<string>(scopesOfRole(role));
      return { ...account, caller: { userId: account.id, role, scopes, sessionId: undefined } };
    }),
  );
  const first = secondInstance(app, { database: interruptible(app.database, between) });
  const second = await instanceOnOwnPool(app);
  const stage: Stage = { app, instances: [first, second], late: secondInstance(app), between, accounts };
  await fc.assert(
    fc.asyncProperty(commands, lateJoins, async (given, late) => {
      const world = await World.begin(stage);
      try {
        for (const command of given) await world.run(command);
        await world.settle(late);
        const unfinished = () => {
          vi.advanceTimersByTime(3_000);
          return world.unfinished();
        };
        await expect.poll(unfinished, { interval: 20 }).toBe(0);
        await world.judge();
      } finally {
        await world.close();
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});
