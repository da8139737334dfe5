import { KINDS, type Outcome } from './load.ts';
import type { Subscriber } from './subscriber.ts';

/** A part of the run, in milliseconds of the monotonic clock. */
export interface Phase {
  readonly name: string;
  readonly startedMs: number;
  readonly endedMs: number;
}

export interface Deliveries {
  readonly lost: number;
  readonly doubled: number;
  readonly total: number;
}

/** The value that a share of the sorted ones does not pass (nearest rank). */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

const startedIn = (outcomes: readonly Outcome[], { startedMs, endedMs }: Phase) =>
  outcomes.filter((outcome) => outcome.startedMs >= startedMs && outcome.startedMs < endedMs);

export const failuresIn = (outcomes: readonly Outcome[], phase: Phase) =>
  startedIn(outcomes, phase).filter(({ failure }) => failure !== undefined);

/** A line for each phase: requests, failures, and latencies in milliseconds. */
export function latencyTable(outcomes: readonly Outcome[], phases: readonly Phase[]): string {
  const header = ['', 'seconds', 'requests', 'failed', 'p50 ms', 'p95 ms', 'p99 ms', 'longest ms'];
  const rows = phases.map((phase) => {
    const own = startedIn(outcomes, phase);
    const sorted = own.map((outcome) => outcome.endedMs - outcome.startedMs).sort((a, b) => a - b);
    const seconds = ((phase.endedMs - phase.startedMs) / 1_000).toFixed(0);
    const shares = [0.5, 0.95, 0.99, 1].map((share) => quantile(sorted, share).toFixed(1));
    return [phase.name, seconds, String(own.length), String(failuresIn(own, phase).length), ...shares];
  });
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  '),
    )
    .join('\n');
}

/** How many requests of each kind there were. */
export function mixOf(outcomes: readonly Outcome[]): string {
  return KINDS.map((kind) => `${outcomes.filter((outcome) => outcome.kind === kind).length} ${kind}`).join(
    ', ',
  );
}

/** What the subscribers got of the posts that they all had to get. */
export function deliveriesOf(subscribers: readonly Subscriber[], posts: readonly string[]): Deliveries {
  let [lost, doubled, total] = [0, 0, 0];
  for (const { received } of subscribers) {
    for (const post of posts) if (!received.has(post)) lost += 1;
    for (const count of received.values()) {
      total += count;
      doubled += count - 1;
    }
  }
  return { lost, doubled, total };
}
