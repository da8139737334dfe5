import { expect } from 'vitest';
import { statement } from '../../../src/database/statement.ts';
import { BLOCKED, pruneEvents } from '../../../src/engine/events/event-log.ts';
import type { TestApp } from '../app.ts';
import { until } from '../processes/process.ts';

type Tested = Pick<TestApp, 'database' | 'prisma'>;

/** An age that every event has. */
const ANY_MS = -3_600_000;

const BLOCKED_EVENTS = statement<{ blocked: boolean }>(
  'test_blocked',
  `SELECT EXISTS (SELECT FROM events WHERE ${BLOCKED}) AS blocked`,
);

const FORGET_BLOCKED = statement<never>('test_forget_blocked', 'UPDATE event_log SET held_at = NULL');

/** Waits until all events can be read: a transaction in any database of the server may keep them from it. */
export async function eventsReadable({ database }: Tested): Promise<void> {
  await until(
    'all events to be readable',
    async () => !(await database.query(BLOCKED_EVENTS, []))[0]?.blocked,
  );
}

/** Has retention drop every event there is, as soon as it may. */
export async function dropEvents({ database, prisma }: Tested): Promise<void> {
  await expect
    .poll(async () => {
      await database.query(FORGET_BLOCKED, []);
      await pruneEvents(database, ANY_MS);
      return prisma.event.count();
    })
    .toBe(0);
}
