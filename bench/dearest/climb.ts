import { type Draw, pick } from '../harness/random.ts';
import type { Changes } from './changes.ts';
import type { Cost, Priced, Scales } from './costs.ts';
import type { Operation } from './operation.ts';
import { print } from './print.ts';

const MIB = 1_048_576;
/** What an operation may have of the database: so much, and so much more a MiB of its answer. */
const ALLOWED_MS = 20;
const ALLOWED_MS_A_MIB = 10;

export const allowedMs = ({ bytes }: Cost): number => ALLOWED_MS + (ALLOWED_MS_A_MIB * bytes) / MIB;

/** What an operation can be the dearest by. */
export interface Measure {
  readonly name: string;
  readonly unit: string;
  of(priced: Priced): number;
}

interface Figure extends Measure {
  of(priced: Pick<Priced, 'cost'>): number;
}

const FIGURES: readonly Figure[] = [
  { name: 'answer', unit: 'KiB', of: ({ cost }) => cost.bytes / 1024 },
  { name: 'database CPU', unit: 'ms', of: ({ cost }) => cost.databaseMs },
  { name: 'node CPU', unit: 'ms', of: ({ cost }) => cost.nodeMs },
  { name: 'statements', unit: '', of: ({ cost }) => cost.statements },
  { name: 'memory', unit: 'MiB', of: ({ cost }) => cost.memoryBytes / MIB },
];

const A_THOUSAND = 1_000;

export const MEASURES: readonly Measure[] = [
  {
    name: 'database CPU of what is allowed',
    unit: '%',
    of: ({ cost }) => (100 * cost.databaseMs) / allowedMs(cost),
  },
  ...FIGURES,
  ...FIGURES.map(({ name, unit, of }) => ({
    name: `${name} for its points`,
    unit: `${unit} a thousand`.trim(),
    of: (priced: Priced) => (of(priced) * A_THOUSAND) / Math.max(1, priced.points),
  })),
];

export interface Found extends Priced {
  readonly operation: Operation;
}

/** So many of each measure are climbed from. */
const KEPT = 4;
/** What seems dearer is weighed so many times more before it is taken for that. */
const AGAIN = 2;
/** So many of each measure are weighed once more at the end. */
const FINALISTS = 2;

/** Climbs by all measures at once: what is made for the sake of one is tried for all of them. */
export class Climb {
  readonly #scales: Scales;
  readonly #changes: Changes;
  readonly #draw: Draw;
  readonly #kept = new Map<Measure, readonly Found[]>(MEASURES.map((measure) => [measure, []]));
  readonly #seen = new Set<string>();
  accepted = 0;

  constructor(scales: Scales, changes: Changes, draw: Draw) {
    this.#scales = scales;
    this.#changes = changes;
    this.#draw = draw;
  }

  /** The measures by which something is dearer than the last that is kept of each. */
  #dearerBy(found: Found): Measure[] {
    return MEASURES.filter((measure) => {
      const last = this.#kept.get(measure)?.[KEPT - 1];
      return last === undefined || measure.of(found) > measure.of(last);
    });
  }

  async try(operation: Operation): Promise<void> {
    const { query, variables } = print(operation, 0);
    const text = `${query} ${JSON.stringify(variables)} ${operation.keyed}`;
    if (this.#seen.has(text)) return;
    this.#seen.add(text);
    const points = await this.#scales.points(operation);
    if (points === undefined) return;
    this.accepted += 1;
    const first = await this.#scales.weigh(operation, 1);
    if (this.#dearerBy({ operation, points, cost: first }).length === 0) return;
    const found = { operation, points, cost: await this.#scales.weigh(operation, AGAIN, first) };
    for (const measure of this.#dearerBy(found)) {
      const all = [...(this.#kept.get(measure) ?? []), found];
      this.#kept.set(measure, all.toSorted((a, b) => measure.of(b) - measure.of(a)).slice(0, KEPT));
    }
  }

  /** Goes on until the time is over. */
  async until(endMs: number): Promise<void> {
    while (performance.now() < endMs) {
      const measure = pick(this.#draw, MEASURES as [Measure, ...Measure[]]);
      const kept = this.#kept.get(measure) ?? [];
      const from = kept[this.#draw(kept.length - 1)];
      if (from === undefined) throw new Error('the service refuses every operation to begin with');
      const next = this.#changes.next(from.operation);
      if (next !== undefined) await this.try(next);
    }
  }

  /** The dearest by each measure, once the best were weighed again, so many times each. */
  async dearest(times: number): Promise<ReadonlyMap<Measure, Found>> {
    const believed = new Map<Found, Found>();
    const finalists = [...this.#kept].map(([measure, kept]) => [measure, kept.slice(0, FINALISTS)] as const);
    for (const found of new Set(finalists.flatMap(([, kept]) => kept))) {
      const cost = await this.#scales.weigh(found.operation, times, found.cost);
      believed.set(found, { ...found, cost });
    }
    return new Map(
      finalists.flatMap(([measure, kept]) => {
        const [worst] = kept
          .map((found) => believed.get(found) ?? found)
          .toSorted((a, b) => measure.of(b) - measure.of(a));
        return worst === undefined ? [] : [[measure, worst] as const];
      }),
    );
  }
}
