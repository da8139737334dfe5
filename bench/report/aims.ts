import { type Contestant, FLOOR, MERCURIUS_SAME_DUTIES, PEERS, PRODUCT } from '../contestants.ts';
import type { Measured } from '../harness/side-by-side.ts';
import type { Workload } from '../workloads.ts';
import { figure, table } from './markdown.ts';
import { medianRatio, type Ratios, ratioOf } from './ratios.ts';

/** The most Node CPU a request that is aimed at, as a multiple of the floor. */
const AIMS: Readonly<Partial<Record<Workload, number>>> = {
  W0: 2.8,
  W1: 1.8,
  W2: 1.8,
  W3: 1.8,
  W4: 1.8,
  W8a: 3.5,
  W8b: 5.5,
};

/** Where the service is to cost less than Mercurius with the same duties. */
const TO_BE_AHEAD: readonly Workload[] = ['W1', 'W2', 'W3', 'W5', 'W6', 'W9'];

/** What the service does that the peers do not, which is told where it is behind. */
const REASONS: Readonly<Partial<Record<Workload, string>>> = {
  W0: 'nothing is read: what is left are HTTP and the duties, of which the service has more (a bucket for the account too, scopes, security headers, response bounds)',
  W4: 'the service writes an event with each post, which subscribers are told of; the peers write the post alone',
  W7: 'the service encrypts the answer under the key, holds a lock on the key and writes an event with the post; the peers store the answer as it is',
};

/** A workload against another one of the same server, with the most that is aimed at. */
interface Relation {
  readonly workload: Workload;
  readonly by: Workload;
  readonly aims: Readonly<Record<'nodeCpuMs' | 'databaseCpuMs', number>>;
}

const RELATIONS: readonly Relation[] = [
  { workload: 'W5', by: 'W5l', aims: { nodeCpuMs: 1.5, databaseCpuMs: 1.7 } },
  { workload: 'W6', by: 'W6l', aims: { nodeCpuMs: 1.5, databaseCpuMs: 1.7 } },
  { workload: 'W7', by: 'W4', aims: { nodeCpuMs: 1.6, databaseCpuMs: 1.8 } },
];

const met = (value: number | undefined, aim: number) =>
  value === undefined ? '–' : value <= aim ? 'yes' : 'no';

function costOf(all: Ratios, contestant: Contestant, workload: Workload): number | undefined {
  return ratioOf(all, contestant, workload, 'nodeCpuMs');
}

/** Whether the service costs less than Mercurius with the same duties; (!) where it should and does not. */
function aheadOfSameDuties(all: Ratios, workload: Workload): string {
  const own = costOf(all, PRODUCT, workload);
  const other = costOf(all, MERCURIUS_SAME_DUTIES, workload);
  if (own === undefined || other === undefined) return '–';
  if (own < other) return 'yes';
  return TO_BE_AHEAD.includes(workload) ? 'no (!)' : 'no';
}

/** The service's Node CPU against the aims and the peers. */
export function aimsTable(all: Ratios, workloads: readonly Workload[]): string {
  const rows = workloads.map((workload) => {
    const own = costOf(all, PRODUCT, workload);
    const aim = AIMS[workload];
    const others = PEERS.filter((peer) => peer !== MERCURIUS_SAME_DUTIES && costOf(all, peer, workload));
    const ahead = others.filter((peer) => (own ?? 0) < (costOf(all, peer, workload) ?? 0));
    return [
      workload,
      figure(own),
      aim === undefined ? '–' : String(aim),
      aim === undefined ? '–' : met(own, aim),
      figure(costOf(all, MERCURIUS_SAME_DUTIES, workload)),
      aheadOfSameDuties(all, workload),
      ahead.map(({ name }) => name).join(', ') || 'none',
    ];
  });
  const header = ['Node CPU ÷ floor', 'product', 'aim, at most', 'met', MERCURIUS_SAME_DUTIES.name];
  return table([...header, 'product ahead of it', 'ahead of'], rows);
}

/** Why the service is behind Mercurius with the same duties, where it is and is known. */
export function reasonsList(all: Ratios, workloads: readonly Workload[]): string {
  return workloads
    .filter((workload) => aheadOfSameDuties(all, workload).startsWith('no'))
    .flatMap((workload) =>
      REASONS[workload] === undefined ? [] : [`- behind on ${workload}: ${REASONS[workload]}`],
    )
    .join('\n');
}

const FIGURE_NAMES = { nodeCpuMs: 'Node CPU', databaseCpuMs: 'Database CPU' } as const;

function relationTable(
  measured: Measured,
  relations: readonly Relation[],
  name: keyof Relation['aims'],
): string {
  const relativeOf = (contestant: Contestant, { workload, by }: Relation) => {
    const own = measured.get(contestant);
    return medianRatio(own?.get(workload), own?.get(by))?.[name];
  };
  const peers = [...measured.keys()].filter((one) => one !== PRODUCT && one !== FLOOR);
  const rows = [PRODUCT, ...peers, FLOOR]
    .map((contestant) => ({
      contestant,
      values: relations.map((relation) => relativeOf(contestant, relation)),
    }))
    .filter(({ values }) => values.some((value) => value !== undefined))
    .map(({ contestant, values }) => [contestant.name, ...values.map(figure)]);
  const header = relations.map(({ workload, by }) => `${workload} ÷ ${by}`);
  return table(
    [`${FIGURE_NAMES[name]} ÷ that of the same server`, ...header],
    [
      ['aim for the product, at most', ...relations.map(({ aims }) => String(aims[name]))],
      ['met', ...relations.map((relation) => met(relativeOf(PRODUCT, relation), relation.aims[name]))],
      ...rows,
    ],
  );
}

/** What connections cost beside lists, and keyed mutations beside others, of the same server in the same rounds. */
export function relationTables(measured: Measured, workloads: readonly Workload[]): string[] {
  const relations = RELATIONS.filter(
    ({ workload, by }) => workloads.includes(workload) && workloads.includes(by),
  );
  if (relations.length === 0) return [];
  return [
    'Connections beside the same lists, and keyed mutations beside those without a key:',
    relationTable(measured, relations, 'nodeCpuMs'),
    relationTable(measured, relations, 'databaseCpuMs'),
  ];
}
