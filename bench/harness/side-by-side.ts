import { type Contestant, type Running, runs } from '../contestants.ts';
import { removeWritten } from '../data/content.ts';
import { progress } from '../report/results.ts';
import { requestsOf } from '../workloads/requests.ts';
import { normalised } from '../workloads/responses.ts';
import { GROUPS, type Workload, writes } from '../workloads.ts';
import { inTurn, once } from './load.ts';
import { type Figures, measure } from './measure.ts';

export const CONNECTIONS = 32;
const CHECKED_REQUESTS = 20;

export interface RoundOptions {
  readonly workloads: readonly Workload[];
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

/** What a server answers to some requests of a workload, in the form that all share. */
async function readResponses({ contestant, server, workspace }: Running, workload: Workload) {
  const requests = requestsOf(workload, contestant.dialect, workspace);
  const next = inTurn(requests);
  const texts: string[] = [];
  for (let left = CHECKED_REQUESTS; left > 0; left -= 1) {
    const request = next();
    const { text } = await once(server.port, request);
    texts.push(JSON.stringify(normalised(workload, text)));
    // Under a key there is one post: whoever asks again is told of it.
    if (workload === 'W7' && (await once(server.port, request)).text !== text)
      throw new Error(`${contestant.name} answers another time with something else`);
  }
  return { name: contestant.name, text: texts.join('\n') };
}

/** Throws unless all servers answer every workload with the same data. */
export async function checkResponses(
  running: readonly Running[],
  workloads: readonly Workload[],
): Promise<void> {
  for (const workload of workloads) {
    const asked = running.filter(({ contestant }) => runs(contestant, workload));
    const responses = await Promise.all(asked.map((entry) => readResponses(entry, workload)));
    const [first] = responses;
    for (const { name, text } of responses)
      if (text !== first?.text)
        throw new Error(
          `${workload}: ${name} answers\n${text.slice(0, 1000)}\n${first?.name} answers\n${first?.text.slice(0, 1000)}`,
        );
    if (writes(workload)) await Promise.all(asked.map(({ workspace }) => removeWritten(workspace.admin)));
  }
}

/** Measures the workloads on every server that has them, interleaved in rounds. */
export async function measureAll(
  running: readonly Running[],
  { workloads, rounds, firstWarmUpMs, warmUpMs, durationMs }: RoundOptions,
): Promise<Measured> {
  const measured = new Map<Contestant, Map<Workload, Figures[]>>(
    running.map(({ contestant }) => [contestant, new Map()]),
  );
  const measureOne = async (entry: Running, workload: Workload, round: number) => {
    const { workspace } = entry;
    const figures = await measure(workspace, entry, {
      requests: requestsOf(workload, entry.contestant.dialect, workspace),
      connections: CONNECTIONS,
      warmUpMs: round === 1 ? firstWarmUpMs : warmUpMs,
      durationMs,
    });
    const byWorkload = measured.get(entry.contestant);
    byWorkload?.set(workload, [...(byWorkload.get(workload) ?? []), figures]);
    if (writes(workload)) await removeWritten(workspace.admin);
  };
  const groups = GROUPS.map((group) => group.filter((workload) => workloads.includes(workload)));
  for (let round = 1; round <= rounds; round += 1) {
    for (const group of groups.filter(({ length }) => length > 0)) {
      progress(`round ${round} of ${rounds}, ${group.join(' and ')}`);
      // Each round begins with another server, so that none is always first after the break.
      const turn = running.map((_, index) => running[(index + round) % running.length] as Running);
      for (const entry of turn)
        for (const workload of group)
          if (runs(entry.contestant, workload)) await measureOne(entry, workload, round);
    }
  }
  return measured;
}
