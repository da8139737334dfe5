import { figure, megabytes } from '../report/markdown.ts';
import type { Outcome } from './trial.ts';

/** `MAX_PENDING_RESPONSE_BYTES` by default, and 300 MB. */
export const MOST_BYTES = 268_435_456 + 300_000_000;
/** `MAX_IDEMPOTENCY_BYTES_PER_ACCOUNT` by default, the largest budget that an account has. */
const STORED_BUDGET = 67_108_864;
/** What each figure may be at most (issue 33) counts as 5, so that they compare. */
const AT_LIMIT = 5;
const MOST_MS = 500;
const REJECTION = 10;
const FAILURE = 20;

/** The service or its machine failed, not the client. */
const isFailure = (what: string) => / (0|5\d\d)\b/.test(what);

/** How bad it is: the worst figure against what it may be, and more for each rejection. */
export function badness(outcome: Outcome, alone: Outcome): number {
  const { read, write, login, event, live, ready, rejected, grownBytes, storedBytes } = outcome;
  const late = (AT_LIMIT * Math.max(event || 0, live || 0, ready || 0)) / MOST_MS;
  const slower = Math.max(read / alone.read || 0, write / alone.write || 0, login / alone.login || 0);
  const grown = (AT_LIMIT * grownBytes) / Math.max(1, MOST_BYTES - (alone.peakBytes - alone.grownBytes));
  const stored = (AT_LIMIT * storedBytes) / STORED_BUDGET;
  const rejections = Object.entries(rejected).map(
    ([what, count]) => count * (isFailure(what) ? FAILURE : REJECTION),
  );
  return Math.max(slower, late, grown, stored) + rejections.reduce((sum, points) => sum + points, 0);
}

export const counts = (all: Readonly<Record<string, number>>) =>
  Object.entries(all)
    .map(([what, count]) => `${what}: ${count}`)
    .join(', ') || 'none';

export const HEADER = [
  'mix',
  'read',
  'write',
  'read ×',
  'write ×',
  'login',
  'event',
  'live',
  'ready',
  'refused',
  'memory',
  'stored',
  'samples',
];

/** `beside`: the same with the mix sent to a server that does nothing. */
export function row(name: string, outcome: Outcome, beside?: Outcome): string[] {
  const { read, write, login, event, live, ready, rejected, peakBytes, storedBytes, samples } = outcome;
  return [
    name,
    figure(read),
    figure(write),
    figure(beside && read / beside.read),
    figure(beside && write / beside.write),
    ...[login, event, live, ready].map(figure),
    counts(rejected),
    megabytes(peakBytes),
    megabytes(storedBytes),
    String(samples),
  ];
}
