import type { Contestant } from '../contestants.ts';
import { FLOOR, PRODUCT } from '../contestants.ts';
import type { Workspace } from '../data/workspace.ts';
import { FIGURES, type Figures, medianFigures, ratios } from '../harness/measure.ts';
import type { Measured } from '../harness/side-by-side.ts';
import { WORKLOADS, type Workload } from '../workloads.ts';
import { figure, table } from './markdown.ts';
import { versions } from './versions.ts';

export interface ComparisonOptions {
  readonly measured: Measured;
  readonly setting: string;
  readonly workspace: Pick<Workspace, 'postgresVersion' | 'postgresSettings'>;
}

const TITLES: Readonly<Record<keyof Figures, string>> = {
  nodeCpuMs: 'Node CPU a request ÷ floor (less is better)',
  databaseCpuMs: 'Database CPU a request ÷ floor (less is better)',
  perSecond: 'Requests a second ÷ floor (more is better)',
  p50Ms: 'p50 ÷ floor (less is better)',
  p99Ms: 'p99 ÷ floor (less is better)',
};

const UNITS: Readonly<Record<keyof Figures, string>> = {
  nodeCpuMs: 'Node CPU, ms a request',
  databaseCpuMs: 'database CPU, ms a request',
  perSecond: 'requests a second',
  p50Ms: 'p50, ms',
  p99Ms: 'p99, ms',
};

/** The most Node CPU a request that is aimed at, as a multiple of the floor. */
const AIMS: Readonly<Record<Workload, number>> = { W0: 3, W1: 2.5, W2: 2.5, W3: 2.5, W4: 2 };

const ABOUT = `W0 \`{ __typename }\` · W1 \`user(id) { name posts(limit: 10) { title commentCount } }\` · W2 \`posts(limit: 20) { id title author { name } }\` · W3 \`posts(limit: 20) { title author { name posts(limit: 5) { title commentCount } } }\` · W4 \`createPost { id title }\``;

/** Median over rounds of each round's ratio to the floor. */
function ratioTable(measured: Measured): Map<Contestant, Map<Workload, Figures>> {
  const floor = measured.get(FLOOR);
  return new Map(
    [...measured].map(([contestant, byWorkload]) => [
      contestant,
      new Map(
        WORKLOADS.map((workload) => {
          const floors = floor?.get(workload) ?? [];
          const rounds = byWorkload.get(workload) ?? [];
          const divided = rounds.flatMap((figures, round) => {
            const by = floors[round];
            return by === undefined ? [] : [ratios(figures, by)];
          });
          return [workload, medianFigures(divided)];
        }),
      ),
    ]),
  );
}

function aims(byContestant: ReadonlyMap<Contestant, ReadonlyMap<Workload, Figures>>): string {
  const own = byContestant.get(PRODUCT);
  const peers = [...byContestant].filter(
    ([{ name }]) => name !== FLOOR.name && !name.startsWith(PRODUCT.name),
  );
  const rows = WORKLOADS.map((workload) => {
    const value = own?.get(workload)?.nodeCpuMs ?? Number.NaN;
    const ahead = peers.filter(([, figures]) => value < (figures.get(workload)?.nodeCpuMs ?? 0));
    return [
      workload,
      figure(value),
      `${AIMS[workload]}`,
      value <= AIMS[workload] ? 'yes' : 'no',
      ahead.length === peers.length ? 'of all' : ahead.map(([{ name }]) => name).join(', ') || 'of none',
    ];
  });
  return table(['Node CPU ÷ floor', 'product', 'aim, at most', 'met', 'ahead'], rows);
}

/** The section of a comparison. */
export function comparison({ measured, setting, workspace }: ComparisonOptions): string {
  const byContestant = ratioTable(measured);
  const floor = measured.get(FLOOR) ?? new Map<Workload, Figures[]>();
  const absolute = FIGURES.map((name) => [
    UNITS[name],
    ...WORKLOADS.map((workload) => figure(medianFigures(floor.get(workload) ?? [])[name])),
  ]);
  return [
    `${setting}.`,
    ABOUT,
    [...measured.keys()].map(({ name, note }) => `- **${name}**: ${note}`).join('\n'),
    ...FIGURES.map((name) =>
      table(
        [TITLES[name], ...WORKLOADS],
        [...byContestant].map(([contestant, byWorkload]) => [
          contestant.name,
          ...WORKLOADS.map((workload) => figure(byWorkload.get(workload)?.[name])),
        ]),
      ),
    ),
    aims(byContestant),
    table(['the floor itself', ...WORKLOADS], absolute),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ].join('\n\n');
}
