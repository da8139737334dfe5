import type { EventName } from '../../src/events/event-id.ts';
import { findEvents, readFiltered } from '../../src/events/log.ts';
import type { Database } from '../../src/platform/db/database.ts';

/** As the service gathers look-ups, and reads on. */
const GATHERED = 100;
const READ = { limit: 100, looks: 100 };
const AT_ONCE = 10;

/** The time of each stream from its id to its first events, in milliseconds, sorted. Throws where an event is not known. */
export async function resume(database: Database, names: readonly EventName[]): Promise<Float64Array> {
  const latencies: number[] = [];
  const parts = Array.from({ length: Math.ceil(names.length / GATHERED) }, (_, part) =>
    names.slice(part * GATHERED, (part + 1) * GATHERED),
  );
  for (const part of parts) {
    const startedMs = performance.now();
    const found = await findEvents(database, part);
    if (found.includes(undefined)) throw new Error('an event is not in the log');
    const foundMs = performance.now() - startedMs;
    let next = 0;
    const one = async () => {
      for (let name = part[next++]; name !== undefined; name = part[next++]) {
        const readMs = performance.now();
        const { events } = await readFiltered(database, name, {}, READ);
        if (events.length !== READ.limit) throw new Error(`${events.length} events were read`);
        latencies.push(foundMs + performance.now() - readMs);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  }
  return Float64Array.from(latencies).sort();
}
