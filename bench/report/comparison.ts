import { FLOOR } from '../contestants.ts';
import type { Workspace } from '../data/workspace.ts';
import { FIGURES, type Figures, medianFigures } from '../harness/measure.ts';
import type { Measured } from '../harness/side-by-side.ts';
import { ABOUT, type Workload } from '../workloads.ts';
import { aimsTable, reasonsList, relationTables } from './aims.ts';
import { figure, table } from './markdown.ts';
import { type Ratios, ratioOf } from './ratios.ts';
import { TITLES } from './titles.ts';
import { versions } from './versions.ts';

export interface ComparisonOptions {
  readonly measured: Measured;
  /** The same as multiples of the floor. */
  readonly ratios: Ratios;
  readonly workloads: readonly Workload[];
  readonly setting: string;
  /** Where the charts are, seen from the report. */
  readonly charts: string;
  readonly workspace: Pick<Workspace, 'postgresVersion' | 'postgresSettings'>;
}

/** The section of a comparison. */
export function comparison({
  measured,
  ratios,
  workloads,
  setting,
  charts,
  workspace,
}: ComparisonOptions): string {
  const floor = measured.get(FLOOR) ?? new Map<Workload, Figures[]>();
  const absolute = FIGURES.map((name) => [
    TITLES[name].unit,
    ...workloads.map((workload) => figure(medianFigures(floor.get(workload) ?? [])[name])),
  ]);
  const main = FIGURES.flatMap((name) => {
    const { ratio, better, file } = TITLES[name];
    const rows = [...measured.keys()].map((contestant) => [
      contestant.name,
      ...workloads.map((workload) => figure(ratioOf(ratios, contestant, workload, name))),
    ]);
    return [`![${ratio}](${charts}/${file})`, table([`${ratio} (${better})`, ...workloads], rows)];
  });
  const reasons = reasonsList(ratios, workloads);
  return [
    `${setting}. Workloads:`,
    workloads.map((workload) => `- **${workload}**: ${ABOUT[workload]}`).join('\n'),
    'Servers:',
    [...measured.keys()].map(({ name, note }) => `- **${name}**: ${note}`).join('\n'),
    ...main,
    'Against the aims, (!) where the service is to be ahead and is not:',
    aimsTable(ratios, workloads),
    ...(reasons === '' ? [] : [reasons]),
    ...relationTables(measured, workloads),
    table(['the floor itself', ...workloads], absolute),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ].join('\n\n');
}
