import { PRODUCT } from '../contestants.ts';
import { median } from '../harness/load.ts';
import { figure, table } from '../report/markdown.ts';
import type { Bar } from '../report/svg.ts';
import type { Cost, Delivery } from './deliver.ts';
import { type Aim, type Part, people } from './part.ts';
import { ALONE, BARE, PRE_FRAMED, type Selection } from './scene.ts';

/** Some events after another, while so many subscribers ask for a selection. */
export interface Setting {
  readonly subscribers: number;
  readonly selection: Selection;
  readonly perSecond: number;
}

/** What a round has told of a server. */
export interface Measured extends Setting {
  readonly name: string;
  readonly cost: Cost;
  readonly delivery: Delivery;
}

/** The median over the rounds. */
interface Figures {
  readonly cpuUs: number;
  readonly bytes: number;
  readonly statements: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const MAX_CPU = 1.25;
const MAX_P50 = 1.3;
const MAX_P99 = 2;
const WITHOUT_DATABASE = [BARE.name, PRE_FRAMED.name];
const NAMES = [...WITHOUT_DATABASE, PRODUCT.name, ALONE.name];

function over(rounds: readonly Measured[]): Figures {
  const of = (pick: (measured: Measured) => number) => median(rounds.map(pick));
  return {
    cpuUs: of(({ cost }) => cost.cpuUs),
    bytes: of(({ cost }) => cost.bytes),
    statements: of(({ cost }) => cost.statementsAnEvent),
    p50Ms: of(({ delivery }) => delivery.lags.p50Ms),
    p99Ms: of(({ delivery }) => delivery.lags.p99Ms),
  };
}

/** What is said of one setting. */
interface Group {
  readonly rows: readonly string[][];
  readonly aims: readonly Aim[];
  readonly bars: readonly Bar[];
}

function groupOf(measured: readonly Measured[], { subscribers, selection }: Setting): Group {
  const group = `${people(subscribers)} × \`${selection}\``;
  const byName = new Map(
    NAMES.flatMap((name) => {
      const rounds = measured.filter(
        (entry) => entry.name === name && entry.subscribers === subscribers && entry.selection === selection,
      );
      return rounds.length === 0 ? [] : [[name, over(rounds)] as const];
    }),
  );
  const bare = byName.get(BARE.name) ?? over([]);
  const own = byName.get(PRODUCT.name) ?? over([]);
  return {
    rows: [...byName].map(([name, { cpuUs, bytes, statements, p50Ms, p99Ms }]) => [
      people(subscribers),
      `\`${selection}\``,
      name,
      figure(cpuUs),
      figure(cpuUs / bare.cpuUs),
      figure(bytes),
      WITHOUT_DATABASE.includes(name) ? '–' : figure(statements),
      figure(p50Ms),
      figure(p50Ms / bare.p50Ms),
      figure(p99Ms),
      figure(p99Ms / bare.p99Ms),
    ]),
    aims: [
      { what: `CPU ÷ bare, ${group}`, most: MAX_CPU, measured: own.cpuUs / bare.cpuUs },
      { what: `lag p50 ÷ bare, ${group}`, most: MAX_P50, measured: own.p50Ms / bare.p50Ms },
      { what: `lag p99 ÷ bare, ${group}`, most: MAX_P99, measured: own.p99Ms / bare.p99Ms },
    ],
    bars: [...byName].map(([label, { cpuUs }]) => ({ group, label, value: cpuUs })),
  };
}

/** The subsection; `how` says how it was measured. */
export function report(measured: readonly Measured[], settings: readonly Setting[], how: string): Part {
  const groups = settings.map((setting) => groupOf(measured, setting));
  const text = [
    '### At a steady rate',
    `${how} CPU is user and system time of the server process, from the first event until the last delivery, without what it spends with as many subscribers and no events. A lag counts from when the sender has its answer, which comes before the event: that of the mutation, that of the order to emit. The service’s CPU and statements include the mutation.`,
    table(
      [
        'subscribers',
        'selection',
        'server',
        'CPU, µs a delivery',
        '÷ bare',
        'bytes a delivery',
        'statements an event',
        'lag p50, ms',
        '÷ bare',
        'lag p99, ms',
        '÷ bare',
      ],
      groups.flatMap(({ rows }) => rows),
    ),
  ].join('\n\n');
  return { text, aims: groups.flatMap(({ aims }) => aims), bars: groups.flatMap(({ bars }) => bars) };
}
