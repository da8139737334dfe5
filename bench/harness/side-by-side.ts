import type { Contestant, Running } from '../contestants.ts';
import { removeWritten } from '../data/content.ts';
import type { Workspace } from '../data/workspace.ts';
import { progress } from '../report/results.ts';
import { normalised, requestsOf, WORKLOADS, type Workload } from '../workloads.ts';
import { once } from './load.ts';
import { type Figures, measure } from './measure.ts';

const CONNECTIONS = 32;
const CHECKED_REQUESTS = 20;

export interface RoundOptions {
  readonly rounds: number;
  /** The first run of a workload compiles: V8, the JIT of an operation, plans of statements. */
  readonly firstWarmUpMs: number;
  readonly warmUpMs: number;
  readonly durationMs: number;
}

/** The figures of each round, for each workload of each contestant. */
export type Measured = ReadonlyMap<Contestant, ReadonlyMap<Workload, readonly Figures[]>>;

/** What the report says of a measurement. */
export function settingOf(
  { users, posts }: { readonly users: number; readonly posts: number },
  { rounds, durationMs }: RoundOptions,
): string {
  return `${users.toLocaleString('en')} users, ${posts.toLocaleString('en')} posts, ${CONNECTIONS} connections, pools of 10, median of ${rounds} rounds of ${durationMs / 1000} s`;
}

/** Throws unless all servers answer every workload with the same data. */
export async function checkAnswers(running: readonly Running[], workspace: Workspace): Promise<void> {
  for (const workload of WORKLOADS) {
    const answers = await Promise.all(
      running.map(async ({ contestant, server }) => {
        const requests = requestsOf(workload, contestant.dialect, workspace).slice(0, CHECKED_REQUESTS);
        const texts: string[] = [];
        for (const request of requests) {
          const { text } = await once(server.port, request);
          texts.push(JSON.stringify(normalised(workload, text)));
        }
        return { name: contestant.name, text: texts.join('\n') };
      }),
    );
    const [first] = answers;
    for (const { name, text } of answers)
      if (text !== first?.text)
        throw new Error(
          `${workload}: ${name} answers\n${text.slice(0, 1000)}\n${first?.name} answers\n${first?.text.slice(0, 1000)}`,
        );
    if (workload === 'W4') await removeWritten(workspace.admin);
  }
}

/** Measures every workload on every server, interleaved in rounds. */
export async function measureAll(
  running: readonly Running[],
  workspace: Workspace,
  { rounds, firstWarmUpMs, warmUpMs, durationMs }: RoundOptions,
): Promise<Measured> {
  const measured = new Map<Contestant, Map<Workload, Figures[]>>(
    running.map(({ contestant }) => [contestant, new Map()]),
  );
  for (let round = 1; round <= rounds; round += 1) {
    for (const workload of WORKLOADS) {
      progress(`round ${round} of ${rounds}, ${workload}`);
      // Each round begins with another server, so that none is always first after the break.
      const turn = running.map((_, index) => running[(index + round) % running.length] as Running);
      for (const entry of turn) {
        const figures = await measure(workspace, entry, {
          requests: requestsOf(workload, entry.contestant.dialect, workspace),
          connections: CONNECTIONS,
          warmUpMs: round === 1 ? firstWarmUpMs : warmUpMs,
          durationMs,
        });
        const byWorkload = measured.get(entry.contestant);
        byWorkload?.set(workload, [...(byWorkload.get(workload) ?? []), figures]);
        if (workload === 'W4') await removeWritten(workspace.admin);
      }
    }
  }
  return measured;
}
