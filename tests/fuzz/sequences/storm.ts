import { setTimeout as delay } from 'node:timers/promises';
import { statement } from '../../../src/database/statement.ts';
import { send } from '../../support/keyed.ts';
import type { Watcher } from './cast.ts';
import type { Fault } from './moves.ts';
import type { World } from './world.ts';

/** Only ends a wait that is in vain. */
const SETTLED_WITHIN_MS = 120_000;
const POLL_MS = 10;

/** Lets a fault happen while something is under way. Resolves when all is as before again. */
export async function during<T>(
  { wire, redisWire }: World,
  fault: Fault | undefined,
  act: () => Promise<T>,
): Promise<T> {
  if (fault === undefined) return act();
  const passing = async (wires: typeof redisWire, how: 'stall' | 'cut') => {
    wires?.[how]();
    const acting = act();
    await delay(fault.ms);
    wires?.restore();
    return acting;
  };
  switch (fault.kind) {
    case 'cut before COMMIT':
    case 'cut after COMMIT': {
      wire?.commits.cut(fault.kind === 'cut before COMMIT' ? 'before' : 'after', 1);
      const done = await act();
      wire?.commits.cut('before', 0);
      return done;
    }
    case 'hold COMMIT': {
      wire?.commits.hold(fault.ms);
      const done = await act();
      wire?.commits.hold(0);
      return done;
    }
    case 'stall':
      return passing(wire?.all, 'stall');
    case 'drop': {
      const acting = act();
      await delay(fault.ms / 20);
      wire?.all.cut();
      wire?.all.restore();
      return acting;
    }
    case 'stall Redis':
      return passing(redisWire, 'stall');
    case 'drop Redis':
      return passing(redisWire, 'cut');
  }
}

const BUSY = statement<{ n: number }>(
  'test_busy',
  `SELECT count(*)::int AS n FROM pg_stat_activity
   WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`,
);

/** Waits until no transaction is left over in the database and both instances answer. Throws where that never comes. */
export async function settled(world: World, watcher: Watcher): Promise<void> {
  const deadlineMs = performance.now() + SETTLED_WITHIN_MS;
  const within = async (what: string, done: () => Promise<boolean>) => {
    while (!(await done())) {
      if (performance.now() > deadlineMs) throw new Error(`two minutes after a fault ${what}`);
      await delay(POLL_MS);
    }
  };
  const responses = async (instance: number) => {
    const service = world.instances[instance];
    if (service === undefined) return false;
    const { status } = await send(service, { query: '{ viewer { id } }', key: watcher.key });
    if (status !== 200) return false;
    return world.redis[instance]?.down === false;
  };
  if (world.wire !== undefined)
    await within('a transaction is still open', async () => {
      const [row] = await world.database.query(BUSY, []);
      return row?.n === 0;
    });
  for (const instance of [0, 1]) await within('an instance does not answer', () => responses(instance));
}
