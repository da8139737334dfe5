import { type Contestant, FLOOR } from '../contestants.ts';
import { type Figures, medianFigures, ratios } from '../harness/measure.ts';
import type { Measured } from '../harness/side-by-side.ts';
import type { Workload } from '../workloads.ts';

/** For each contestant, what its workloads cost as multiples of something. */
export type Ratios = ReadonlyMap<Contestant, ReadonlyMap<Workload, Figures>>;

/** The median over the rounds of the ratio within each round; undefined where one of the two was not measured. */
export function medianRatio(
  figures: readonly Figures[] = [],
  by: readonly Figures[] = [],
): Figures | undefined {
  const divided = figures.flatMap((own, round) => {
    const other = by[round];
    return other === undefined ? [] : [ratios(own, other)];
  });
  return divided.length === 0 ? undefined : medianFigures(divided);
}

export function ratiosToFloor(measured: Measured): Ratios {
  const floor = measured.get(FLOOR);
  return new Map(
    [...measured].map(([contestant, byWorkload]) => [
      contestant,
      new Map(
        [...byWorkload].flatMap(([workload, rounds]) => {
          const ratio = medianRatio(rounds, floor?.get(workload));
          return ratio === undefined ? [] : [[workload, ratio] as const];
        }),
      ),
    ]),
  );
}

/** A ratio; undefined where there is none. The floor of W0 reads nothing: there is nothing to divide by. */
export function ratioOf(
  all: Ratios,
  contestant: Contestant,
  workload: Workload,
  name: keyof Figures,
): number | undefined {
  if (workload === 'W0' && name === 'databaseCpuMs') return undefined;
  return all.get(contestant)?.get(workload)?.[name];
}
