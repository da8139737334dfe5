import fc from 'fast-check';
import { it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { secondInstance } from '../../../support/second-instance.ts';
import { commands } from './commands.ts';
import { isOf, judge, logOf } from './judge.ts';
import { type Disturbance, disturbed } from './reading-database.ts';
import { type Stage, World } from './world.ts';

const RUNS = Number(process.env.FAN_OUT_RUNS ?? 15);
/** Only ends a wait that is in vain, below the limit of the test. */
const PATIENCE_MS = 300_000;

const app = useApp({ settings: { MAX_STREAMS: '10000', CREDENTIAL_RECHECK_MS: '50' } });

/** Rejects with what is missing if a promise takes too long. */
async function patiently<T>(what: () => string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(what())), PATIENCE_MS);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function settle(world: World, { disturbance }: Stage): Promise<void> {
  disturbance.failures = 0;
  world.releaseReads();
  await world.endTransaction();
  await world.create(0);
  const last = (await logOf(world, app.database)).events.at(-1);
  const listening = world.subscriptions.filter(({ left }) => !left);
  for (const { stream } of listening) stream.resume();
  await Promise.all(
    listening.map(({ stream, reader }, n) =>
      patiently(
        () => `subscriber ${n} has ${stream.got.length} events and not the last`,
        // One whose credentials have been revoked gets no more, but it is told so.
        stream.until(({ eventId }) => !reader.revoked && isOf(last, eventId)),
      ),
    ),
  );
}

it('each subscriber gets exactly what it would get alone, whoever else listens and whatever happens', async () => {
  const disturbance: Disturbance = { failures: 0, held: undefined };
  const instances = [1, 2].map(() => secondInstance(app, { database: disturbed(app.database, disturbance) }));
  const authors = await Promise.all(
    ['Ada', 'Linus', 'Grace'].map(async (name, n) => {
      const role = n === 2 ? 'admin' : 'member';
      return { ...(await app.account({ name, role })), name, role } as const;
    }),
  );
  const stage: Stage = { app, instances, disturbance, authors };
  await fc.assert(
    fc.asyncProperty(commands, async (given) => {
      const world = await World.begin(stage);
      try {
        for (const command of given) await world.run(command);
        await settle(world, stage);
        const log = await logOf(world, app.database);
        for (const subscription of world.subscriptions) judge(subscription, log);
      } finally {
        disturbance.failures = 0;
        world.releaseReads();
        await world.endTransaction();
        await Promise.all(world.subscriptions.map(({ stream }) => stream.close().catch(() => undefined)));
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});
