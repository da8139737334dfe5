import type { Running } from '../contestants.ts';
import type { Workspace } from '../data/workspace.ts';
import { closedLoop, type LoadOptions, median } from './load.ts';
import { backendTimes, spentMs } from './process-time.ts';

/** What a request costs: CPU and latencies in milliseconds. */
export interface Figures {
  readonly nodeCpuMs: number;
  readonly databaseCpuMs: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export const FIGURES = ['nodeCpuMs', 'databaseCpuMs', 'perSecond', 'p50Ms', 'p99Ms'] as const;

export interface MeasureOptions extends Omit<LoadOptions, 'port'> {
  readonly warmUpMs: number;
}

/** Loads a server with as much as it takes, after a warm-up, and divides what it has cost by the requests. */
export async function measure(
  { admin }: Workspace,
  { server, applicationName }: Running,
  { warmUpMs, ...options }: MeasureOptions,
): Promise<Figures> {
  const load = { port: server.port, ...options };
  await closedLoop({ ...load, durationMs: warmUpMs });
  const backendsBefore = await backendTimes(admin, applicationName);
  const before = await server.usage();
  const { count, perSecond, p50Ms, p99Ms } = await closedLoop(load);
  const after = await server.usage();
  const backendsAfter = await backendTimes(admin, applicationName);
  return {
    nodeCpuMs: (after.cpuMs - before.cpuMs) / count,
    databaseCpuMs: spentMs(backendsBefore, backendsAfter) / count,
    perSecond,
    p50Ms,
    p99Ms,
  };
}

/** The median of each figure by itself. */
export function medianFigures(rounds: readonly Figures[]): Figures {
  const of = (name: keyof Figures) => median(rounds.map((round) => round[name]));
  return {
    nodeCpuMs: of('nodeCpuMs'),
    databaseCpuMs: of('databaseCpuMs'),
    perSecond: of('perSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
  };
}

/** Each figure as a multiple of the floor's in the same round, so that what disturbs a round disturbs both. */
export function ratios(figures: Figures, floor: Figures): Figures {
  const over = (name: keyof Figures) => figures[name] / floor[name];
  return {
    nodeCpuMs: over('nodeCpuMs'),
    databaseCpuMs: over('databaseCpuMs'),
    perSecond: over('perSecond'),
    p50Ms: over('p50Ms'),
    p99Ms: over('p99Ms'),
  };
}
