import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../harness/load.ts';
import type { ServerProcess } from '../harness/server-process.ts';
import type { Accounts } from './accounts.ts';
import { moveOf } from './moves.ts';
import { type Noticed, ordinaryClient } from './ordinary.ts';

/** Names of moves that are made at once. */
export type Mix = readonly string[];

/** What an ordinary client noticed of a mix, and what it did to the service. */
export interface Outcome extends Noticed {
  /** The most memory above that before the mix, after a collection. */
  readonly grownBytes: number;
  /** By how much the database grew. */
  readonly storedBytes: number;
  /** What the attackers got, by how often. */
  readonly responses: Readonly<Record<string, number>>;
}

export interface Scene {
  readonly service: ServerProcess;
  readonly accounts: Accounts;
  /** Bytes of the database. */
  readonly stored: () => Promise<number>;
  /** Once a mix has ended. */
  readonly tidy: () => Promise<void>;
}

export interface TrialOptions {
  readonly mix: Mix;
  readonly durationMs: number;
  /** The mix goes there. */
  readonly port: number;
}

/** What a mix has begun comes to its end before the next one: the service does next to nothing for so long. */
const QUIET_MS = 500;
const QUIET_CPU_MS = 60;
const MOST_LOOKS = 60;

/** Waits until a service has nothing left to do, at most half a minute. */
async function untilQuiet(service: ServerProcess): Promise<void> {
  let { cpuMs } = await service.usage();
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    await delay(QUIET_MS);
    const { cpuMs: after } = await service.usage();
    if (after - cpuMs < QUIET_CPU_MS) return;
    cpuMs = after;
  }
}

/** Makes trials, each with another account than the last ones. */
export function createTrials({ service, accounts: { attackers, ordinary }, stored, tidy }: Scene) {
  let made = 0;
  return async ({ mix, durationMs, port }: TrialOptions): Promise<Outcome> => {
    const number = made++ % attackers.length;
    const attacker = attackers[number];
    if (attacker === undefined) throw new Error('there is no attacker');
    const { rssBytes } = await service.memory();
    const storedBefore = await stored();
    const responses: Record<string, number> = {};
    const note = (what: string) => {
      responses[what] = (responses[what] ?? 0) + 1;
    };
    const stop = new AbortController();
    const [from, stranger] = [`127.0.1.${number + 1}`, `127.0.2.${number + 1}`];
    const target = { port, attacker, from, stranger, signal: stop.signal, note };
    let moves: Promise<void>[] = [];
    const begin = () => {
      moves = mix.map((name) =>
        moveOf(name)(target).catch((error: unknown) => note(`${name} ended: ${(error as Error).message}`)),
      );
      // Not for as long as somebody waits: where a mix delays everybody, it would go on for ever.
      setTimeout(() => stop.abort(), durationMs);
    };
    try {
      const noticed = await ordinaryClient(service, ordinary, durationMs, begin);
      await Promise.all(moves);
      await untilQuiet(service);
      const storedBytes = (await stored()) - storedBefore;
      const grownBytes = Math.max(0, noticed.peakBytes - rssBytes);
      return { ...noticed, grownBytes, storedBytes, responses };
    } finally {
      stop.abort();
      await tidy();
    }
  };
}

/** The median of each figure, and all rejections. */
export function medians(all: readonly Outcome[]): Outcome {
  const of = (figureOf: (outcome: Outcome) => number) => median(all.map(figureOf));
  const sums = (countsOf: (outcome: Outcome) => Readonly<Record<string, number>>) => {
    const counts: Record<string, number> = {};
    for (const outcome of all)
      for (const [what, count] of Object.entries(countsOf(outcome)))
        counts[what] = (counts[what] ?? 0) + count;
    return counts;
  };
  return {
    read: of(({ read }) => read),
    write: of(({ write }) => write),
    login: of(({ login }) => login),
    event: of(({ event }) => event),
    live: of(({ live }) => live),
    ready: of(({ ready }) => ready),
    peakBytes: of(({ peakBytes }) => peakBytes),
    grownBytes: of(({ grownBytes }) => grownBytes),
    storedBytes: of(({ storedBytes }) => storedBytes),
    rejected: sums(({ rejected }) => rejected),
    responses: sums(({ responses }) => responses),
    samples: all.reduce((sum, { samples }) => sum + samples, 0),
  };
}
