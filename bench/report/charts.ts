import { mkdirSync, writeFileSync } from 'node:fs';
import { type Contestant, MERCURIUS, MERCURIUS_SAME_DUTIES, POSTGRAPHILE, PRODUCT } from '../contestants.ts';
import { FIGURES, type Figures } from '../harness/measure.ts';
import { NAMES, WORKLOADS } from '../workloads.ts';
import { groupedChart } from './grouped-chart.ts';
import { type Ratios, ratioOf } from './ratios.ts';
import { TITLES } from './titles.ts';

const SERIES: readonly Contestant[] = [PRODUCT, MERCURIUS_SAME_DUTIES, MERCURIUS, POSTGRAPHILE];
/** Lists are there to hold connections against, which a table does. */
const SHOWN = WORKLOADS.filter((workload) => workload !== 'W5l' && workload !== 'W6l');
/** Longer bars would leave the others without a difference to see. */
const LONGEST = 8;

function longestOf(values: readonly (number | undefined)[]): number {
  const greatest = Math.max(1, ...values.filter((value) => value !== undefined));
  return greatest <= 1.25 ? greatest : Math.min(LONGEST, Math.ceil(greatest));
}

/** One table as a chart. */
export function chartOf(ratios: Ratios, name: keyof Figures): string {
  const { ratio, better } = TITLES[name];
  const groups = SHOWN.map((workload) => ({
    name: workload,
    about: NAMES[workload],
    values: SERIES.map((contestant) => ratioOf(ratios, contestant, workload, name)),
  })).filter(({ values }) => values.some((value) => value !== undefined));
  const all = groups.flatMap(({ values }) => values);
  const longest = longestOf(all);
  const cut = all.some((value) => value !== undefined && value > longest);
  return groupedChart({
    title: ratio,
    subtitle: cut ? `${better}; bars with a gap are cut off at ${longest}` : better,
    series: SERIES.map((contestant) => contestant.name),
    groups,
    longest,
    one: 'floor',
  });
}

/** Writes a chart of each table into a folder. */
export function writeCharts(all: Ratios, folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of FIGURES) writeFileSync(`${folder}/${TITLES[name].file}`, chartOf(all, name));
}
