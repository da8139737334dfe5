import { setTimeout as delay } from 'node:timers/promises';
import { machineMs } from '../harness/machine-time.ts';
import { beforeOthers } from '../harness/priority.ts';
import type { ServerProcess } from '../harness/server-process.ts';
import type { Crowd } from './crowd.ts';
import type { Lags } from './messages.ts';
import type { Sender } from './sender.ts';

/** What a server spends a millisecond while there is no event. */
export interface Idle {
  readonly cpuMs: number;
  readonly statements: number;
}

/** What some events have cost the server, from the first one until the last delivery, and when they arrived. */
export interface Delivery extends Idle {
  readonly elapsedMs: number;
  readonly events: number;
  readonly deliveries: number;
  readonly bytes: number;
  /** From when the last event was known to be committed until the last delivery. */
  readonly untilLastMs: number;
  readonly lags: Lags;
}

/** What a delivery has cost, without what the server would have spent anyway. */
export interface Cost {
  readonly cpuUs: number;
  readonly bytes: number;
  readonly statementsAnEvent: number;
}

export interface DeliverOptions {
  readonly server: ServerProcess;
  readonly crowd: Crowd;
  readonly subscribers: number;
  readonly sender: Sender;
  readonly events: number;
  /** One event after another at this rate; all at once by default. */
  readonly perSecond?: number | undefined;
}

export async function idle(server: ServerProcess, durationMs: number): Promise<Idle> {
  const startMs = machineMs();
  const before = await server.usage();
  await delay(durationMs);
  const after = await server.usage();
  const elapsedMs = machineMs() - startMs;
  return {
    cpuMs: (after.cpuMs - before.cpuMs) / elapsedMs,
    statements: (after.statements - before.statements) / elapsedMs,
  };
}

/** One event after another; each late one is sent at once. */
async function sendAll(sender: Sender, events: number, perSecond: number): Promise<number[]> {
  const startMs = machineMs();
  const knownMs: number[] = [];
  while (knownMs.length < events) {
    const waitMs = startMs + (knownMs.length * 1000) / perSecond - machineMs();
    if (waitMs > 0) await delay(waitMs);
    knownMs.push(await sender.one());
  }
  return knownMs;
}

/** Has events made and waits until every subscriber has them all. */
export async function deliver({
  server,
  crowd,
  subscribers,
  sender,
  events,
  perSecond,
}: DeliverOptions): Promise<Delivery> {
  await crowd.expect(subscribers, events);
  const startMs = machineMs();
  const before = await server.usage();
  const knownMs = await beforeOthers(async () =>
    perSecond === undefined
      ? Array<number>(events).fill(await sender.burst(events))
      : sendAll(sender, events, perSecond),
  );
  const { lastMs, bytes } = await crowd.received();
  const after = await server.usage();
  const elapsedMs = machineMs() - startMs;
  return {
    cpuMs: after.cpuMs - before.cpuMs,
    statements: after.statements - before.statements,
    elapsedMs,
    events,
    deliveries: events * subscribers,
    bytes,
    untilLastMs: lastMs - (knownMs.at(-1) ?? Number.NaN),
    lags: await crowd.lags(knownMs),
  };
}

export function costOf(delivery: Delivery, { cpuMs, statements }: Idle): Cost {
  const { elapsedMs, deliveries, events } = delivery;
  return {
    cpuUs: ((delivery.cpuMs - cpuMs * elapsedMs) * 1000) / deliveries,
    bytes: delivery.bytes / deliveries,
    statementsAnEvent: (delivery.statements - statements * elapsedMs) / events,
  };
}
